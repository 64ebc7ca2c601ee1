/** What the herder knows about failed CI jobs, as the REST API shows it to operators. No text of a log is in these shapes. */
import { z } from 'zod'

const time = z.iso.datetime()
const count = z.number().int().min(0)
const itemType = z.string().describe('The item type whose herder it is.')

const days = z.coerce.number().int().min(1).max(365).default(30).describe('How many days are looked back.')

export const herderStatsQuerySchema = z.strictObject({ days })

export const herderStatsSchema = z
  .object({
    since: time,
    matchers: z
      .array(
        z.object({
          item_type: itemType,
          matcher: z.string(),
          failures: count.describe('Runs of jobs that it knew.'),
          retries: count.describe('Those that the service has run again.'),
          succeeded: count.describe('Retries after which the job was green.'),
          failed_again: count,
          unknown: count.describe('Retries whose end is not known, or not yet.'),
        }),
      )
      .describe('Those with most failures first.'),
    jobs: z
      .array(
        z.object({
          item_type: itemType,
          project: z.string(),
          job: z.string(),
          failures: count,
          retries: count,
          pipelines_retried: count.describe('Pipelines in which it was run again.'),
          pipelines_recovered: count.describe('Pipelines in which that helped.'),
          pipelines_of_project: count.describe(
            'All pipelines of the project that the service knows of. A job that was run again in most of them needs mending.',
          ),
          last_seen_at: time,
        }),
      )
      .describe('At most 50, those that were run again in most pipelines first.'),
  })
  .meta({ id: 'HerderStats' })

export const herderCoverageQuerySchema = z.strictObject({
  days,
  limit: z.coerce.number().int().min(1).max(500).default(50).describe('How many kinds of failures.'),
})

export const herderCoverageSchema = z
  .object({
    since: time,
    failures: count.describe('Failed runs of jobs, all of them.'),
    known: count.describe('Those that a matcher knew.'),
    unknown: z
      .array(
        z.object({
          item_type: itemType,
          project: z.string(),
          job: z.string(),
          stage: z.string(),
          failure_reason: z.string().describe("GitLab's word."),
          failures: count,
          pipelines: count,
          recovered: count.describe('How many were followed by a green run, whoever started it: a flake, then.'),
          last_seen_at: time,
          last_job_url: z.string(),
          known_by: z.string().nullable().describe('The matcher that knows it by now; null: none, or only by its log.'),
        }),
      )
      .describe('What no matcher knew, most frequent first.'),
  })
  .meta({ id: 'HerderCoverage' })

export const herderTestQuerySchema = z.strictObject({
  job_url: z.string().min(1).max(2_000).describe('The address of a job in GitLab: https://…/-/jobs/123.'),
})

export const herderTestSchema = z
  .object({
    job: z.object({
      project: z.string(),
      id: z.number().int(),
      name: z.string(),
      stage: z.string(),
      status: z.string(),
      failure_reason: z.string().nullable(),
      allow_failure: z.boolean(),
      url: z.string(),
    }),
    log: z
      .enum(['read', 'hidden', 'not_needed'])
      .describe('Whether the end of its log was looked at; it is never shown.'),
    matcher: z.string().nullable().describe('The one that decides: the first that fits.'),
    verdict: z.string().describe('What the herder would do.'),
    matchers: z
      .array(
        z.object({
          name: z.string(),
          source: z.string().describe('project, service or built-in'),
          action: z.string(),
          fits: z.boolean(),
          conditions: z.array(
            z.object({
              about: z.string(),
              expected: z.array(z.string()).describe('One of these.'),
              holds: z.boolean().nullable(),
            }),
          ),
        }),
      )
      .describe('In the order in which they are asked.'),
  })
  .meta({ id: 'HerderTest' })

export type HerderStatsView = z.infer<typeof herderStatsSchema>
export type HerderCoverageView = z.infer<typeof herderCoverageSchema>
export type HerderTestView = z.infer<typeof herderTestSchema>
