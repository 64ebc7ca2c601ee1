/**
 * What the configuration says about the herder, which runs failed jobs again: the matchers that know failures, and how
 * often, how soon and how many. A matcher takes what GitLab says of a job, and perhaps the end of its log.
 */
import { z } from 'zod'
import { durationSchema } from '../../../lib/duration.ts'
import { linearPattern } from '../inspection/config.ts'

const text = z.string().min(1).max(255)

/** One, or several of which one has to fit. */
const anyOf = (entry: z.ZodString) =>
  z.union([entry.transform((one) => [one]), z.array(entry).min(1)], { error: 'expected a text, or a list of texts' })

const matchSchema = z
  .strictObject({
    /** Names of jobs; `*` stands for any text. */
    job: anyOf(text).optional(),
    stage: anyOf(text).optional(),
    /** GitLab's words. A word that newer servers have split fits the newer ones as well. */
    failure_reason: anyOf(text).optional(),
    /** Somewhere in the end of the log, without colours and marks; `^` and `$` are those of a line. */
    log_tail: linearPattern.optional(),
  })
  .refine((match) => Object.values(match).some((condition) => condition !== undefined), {
    error: 'expected a condition: job, stage, failure_reason or log_tail',
  })

export const matcherSchema = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, { error: 'expected a name such as lost-runner' }),
    /** All of these have to fit. */
    match: matchSchema,
    /** `report` says the message to people, `ignore` nothing; neither runs the job again. */
    action: z.enum(['retry', 'ignore', 'report']),
    /** Left out: those of mr.herder. */
    max_retries: z.int().min(1).max(10).optional(),
    delay: durationSchema.optional(),
    budget: z.int().min(1).max(1_000).optional(),
    /** What people are told: what it is, and what helps. */
    message: z.string().trim().min(1).max(300).optional(),
  })
  .refine(({ action, message }) => action !== 'report' || message !== undefined, {
    error: 'expected a message: what people are told of it',
    path: ['message'],
  })

const matchersSchema = z
  .array(matcherSchema)
  .max(200)
  .prefault([])
  .refine((matchers) => new Set(matchers.map(({ name }) => name)).size === matchers.length, {
    error: 'two matchers have the same name',
  })

export const herderSchema = z.strictObject({
  /** Off: failed jobs are named to people, and none is run again. */
  enabled: z.boolean().prefault(true),
  /** Asked in their order, after those of the project and before the built-in ones; the first that fits decides. */
  matchers: matchersSchema,
  built_in_matchers: z.boolean().prefault(true),
  /** How often a job of one pipeline may be run again, whoever did it. */
  max_retries: z.int().min(1).max(10).prefault(2),
  /** Before the first retry; doubles with each. */
  delay: durationSchema.prefault('30s'),
  max_delay: durationSchema.prefault('10m'),
  /** Retries of one matcher in one project within an hour. */
  budget: z.int().min(1).max(1_000).prefault(20),
  /** So many failures that a retry would be for, in all projects within the window: nothing is run again until it is calmer. */
  breaker: z
    .strictObject({ failures: z.int().min(2).max(10_000).prefault(40), window: durationSchema.prefault('10m') })
    .prefault({}),
  /** How much of the end of a log is looked at. */
  log_tail_bytes: z.int().min(1_024).max(262_144).prefault(65_536),
  /** How long is kept what became of failures; never their logs. */
  remember: durationSchema.prefault('90d'),
})

/** Of one project. */
export const projectHerderSchema = z.strictObject({
  /** Left out: as mr.herder says. */
  enabled: z.boolean().optional(),
  matchers: matchersSchema,
})

export type HerderConfig = z.infer<typeof herderSchema>
export type MatcherConfig = z.infer<typeof matcherSchema>
export type MatcherInput = z.input<typeof matcherSchema>
