/**
 * `.sandbox-ci.yml`, the sandbox's stand-in for `.gitlab-ci.yml`: it does not run commands, it says how long each job takes
 * and how each attempt of it ends. This file promises either a checked configuration or one sentence for `yaml_errors`;
 * which pipelines start, and when jobs run, is the engine's affair.
 *
 *     stages: [build, test]            # default: build, test, deploy
 *     workflow:
 *       merge_requests: true           # pipelines for merge requests (opened, pushed to); default true
 *       branches: default              # pipelines for pushed branches: default | all | none; default: default
 *       merged_results: true           # those of merge requests run on the merge to be; default: as the project says
 *     jobs:
 *       compile:
 *         stage: build                 # default: test
 *         seconds: 2                   # how long an attempt runs; default 1
 *         log: "compiling\n"           # what an attempt prints; ANSI colours may be in it
 *       unit:
 *         outcomes:                    # by attempt, the last entry repeats; default success
 *           - { status: failed, failure_reason: runner_system_failure, log: "no space left\n" }
 *           - success                  # `failed` alone means script_failure
 *         allow_failure: true          # default false; for `when: manual` default true, as in GitLab
 *         when: manual                 # on_success (default) | on_failure | always | manual
 *         interruptible: true          # a newer pipeline may cancel it while it runs; default false
 *         only: merge_requests         # or `branches`; default: both
 *       downstream:
 *         trigger:                     # makes it a bridge: it starts a pipeline of one job and runs nothing itself
 *           ends: failed               # success (default) | failed | running, which is: never within a day
 *           outcomes: [failed, success] # by attempt of that job, instead of `ends`
 *           seconds: 5                 # how long that job runs; default 1
 *           strategy: depend           # the bridge ends as that pipeline does; default: green once it has started
 *           project: other/project     # default: a child pipeline in this one
 */
import { parseDocument } from 'yaml'
import { z } from 'zod'
import type { JobOutcome, JobScript, Trigger } from '../state.ts'

export const CI_CONFIG_PATH = '.sandbox-ci.yml'

export interface JobConfig extends JobScript {
  readonly name: string
  readonly stage: string
  readonly allowFailure: boolean
  readonly only: 'merge_requests' | 'branches' | null
}

export interface CiConfig {
  readonly stages: readonly string[]
  readonly mergeRequests: boolean
  readonly branches: 'default' | 'all' | 'none'
  /** Null: the project decides. */
  readonly mergedResults: boolean | null
  /** In the order of the file. */
  readonly jobs: readonly JobConfig[]
}

export type ParsedCiConfig = { readonly config: CiConfig } | { readonly error: string }

const outcome = z
  .union([
    z.enum(['success', 'failed']).transform((status) => ({ status })),
    z.strictObject({
      status: z.enum(['success', 'failed']),
      // Any name is taken, also one that GitLab may invent next year: clients have to bear that.
      failure_reason: z
        .string()
        .regex(/^[a-z_]+$/)
        .optional(),
      log: z.string().optional(),
    }),
  ])
  .transform(
    (given): JobOutcome => ({
      status: given.status,
      failureReason:
        given.status === 'failed'
          ? (('failure_reason' in given ? given.failure_reason : undefined) ?? 'script_failure')
          : null,
      log: ('log' in given ? given.log : undefined) ?? null,
    }),
  )

const trigger = z
  .strictObject({
    project: z.string().min(1).nullable().default(null),
    ends: z.enum(['success', 'failed', 'running']).default('success'),
    outcomes: z.array(outcome).min(1).nullable().default(null),
    seconds: z.number().min(0).max(86_400).default(1),
    strategy: z.literal('depend').nullable().default(null),
  })
  .transform((given): Trigger => given)

const job = z.strictObject({
  stage: z.string().default('test'),
  seconds: z.number().min(0).max(86_400).default(1),
  log: z.string().default(''),
  outcomes: z
    .array(outcome)
    .min(1)
    .default([{ status: 'success', failureReason: null, log: null }]),
  allow_failure: z.boolean().optional(),
  when: z.enum(['on_success', 'on_failure', 'always', 'manual']).default('on_success'),
  interruptible: z.boolean().default(false),
  only: z.enum(['merge_requests', 'branches']).optional(),
  trigger: trigger.optional(),
})

const file = z.strictObject({
  stages: z.array(z.string().min(1)).min(1).default(['build', 'test', 'deploy']),
  workflow: z
    .strictObject({
      merge_requests: z.boolean().default(true),
      branches: z.enum(['default', 'all', 'none']).default('default'),
      merged_results: z.boolean().nullable().default(null),
    })
    .default({ merge_requests: true, branches: 'default', merged_results: null }),
  jobs: z.record(z.string().min(1).max(255), job),
})

/** Reads the text of a `.sandbox-ci.yml`. The error names the place, for `yaml_errors`. */
export function parseCiConfig(text: string): ParsedCiConfig {
  const document = parseDocument(text)
  const [syntaxError] = document.errors
  if (syntaxError !== undefined) return { error: `Invalid configuration format: ${syntaxError.message.split('\n')[0]}` }
  const parsed = file.safeParse(document.toJS({ maxAliasCount: 10 }))
  if (!parsed.success) {
    return {
      error: parsed.error.issues.map((issue) => `${issue.path.join(':') || 'file'}: ${issue.message}`).join(', '),
    }
  }
  const { stages, workflow, jobs } = parsed.data
  const configs = Object.entries(jobs).map(([name, given]): JobConfig => {
    const { stage, seconds, log, outcomes, when, interruptible } = given
    const allowFailure = given.allow_failure ?? when === 'manual'
    const config = { name, stage, seconds, log, outcomes, when, interruptible, allowFailure, only: given.only ?? null }
    return given.trigger === undefined ? config : { ...config, trigger: given.trigger }
  })
  if (configs.length === 0) return { error: 'jobs config should contain at least one visible job' }
  const astray = configs.find((config) => !stages.includes(config.stage))
  if (astray !== undefined) {
    return {
      error: `${astray.name} job: chosen stage ${astray.stage} does not exist; available stages are ${stages.join(', ')}`,
    }
  }
  const { merge_requests: mergeRequests, branches, merged_results: mergedResults } = workflow
  return { config: { stages, mergeRequests, branches, mergedResults, jobs: configs } }
}

/** Whether GitLab would skip the pipeline of a commit with this message. */
export function asksToSkipCi(message: string): boolean {
  return /\[(ci[ _-]skip|skip[ _-]ci)\]/i.test(message)
}
