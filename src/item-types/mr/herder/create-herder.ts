/**
 * The herder as operators ask it: what came of its retries, what no matcher knew, and what each matcher says of one job. It
 * only looks. A log is read to be matched, and nothing of it is in any answer.
 */
import type { Database } from '../../../db/database.ts'
import { GitLabError } from '../../../gitlab/errors.ts'
import type { GitLab, GitLabJob } from '../../../gitlab/port.ts'
import { WorkQueueError } from '../../../lib/errors.ts'
import type { Herder, HerderTest } from '../../../queue/herder.ts'
import type { MrConfig, MrProjectConfig } from '../config.ts'
import { readLogTail } from './log-tail.ts'
import {
  checkConditions,
  createRules,
  findMatcher,
  type JobFacts,
  type Log,
  type Matcher,
  type Rules,
} from './matchers.ts'
import { countByJob, countByMatcher, countFailures, countUnknown } from './store.ts'

const MAX_JOBS = 50

export interface HerderDependencies {
  readonly db: Database
  readonly gitlab: GitLab
  readonly config: MrConfig
}

export function createHerder({ db, gitlab, config }: HerderDependencies): Herder {
  const rulesOf = createRules(config)
  const projectAt = (path: string) =>
    config.projects.find((project) => project.path.toLowerCase() === path.toLowerCase())

  return {
    async statistics(since) {
      const [matchers, jobs] = await Promise.all([countByMatcher(db, since), countByJob(db, since, MAX_JOBS)])
      return { matchers, jobs: jobs.map((job) => ({ ...job, last_seen_at: job.last_seen_at.toISOString() })) }
    },

    async coverage(since, limit) {
      const [counts, unknown] = await Promise.all([countFailures(db, since), countUnknown(db, since, limit)])
      /** A matcher that came later; what only a log tells is not known any more. */
      const knownBy = (project: string, facts: JobFacts) => {
        const known = projectAt(project)
        const matcher = known === undefined ? null : findMatcher(rulesOf(known).matchers, facts, undefined)
        return matcher === 'needs_log' ? null : (matcher?.name ?? null)
      }
      return {
        ...counts,
        unknown: unknown.map((row) => ({
          ...row,
          last_seen_at: row.last_seen_at.toISOString(),
          known_by: knownBy(row.project, { name: row.job, stage: row.stage, failureReason: row.failure_reason }),
        })),
      }
    },

    async test(jobUrl, signal) {
      const place = findPlace(config.projects, jobUrl)
      const project = place === null ? null : await orNothing(gitlab.getProject(place.project.path, { signal }))
      const isIt = project !== null && place !== null && place.base === `${project.webUrl}/-/jobs/`
      const job = isIt ? await orNothing(gitlab.getJob(project.id, place.jobId, { signal })) : null
      if (place === null || project === null || job === null) {
        throw new WorkQueueError('job_not_found', `There is no job of a configured project at ${jobUrl}.`)
      }
      const rules = rulesOf(place.project)
      const unsaid = job.status === 'failed' ? 'unknown_failure' : ''
      const facts = { name: job.name, stage: job.stage, failureReason: job.failureReason ?? unsaid }
      const isLogAsked = rules.matchers.some(({ conditions }) => conditions.some(({ about }) => about === 'log_tail'))
      const maxBytes = rules.settings.log_tail_bytes
      const tail = isLogAsked ? await gitlab.getJobLogTail(project.id, job.id, maxBytes, { signal }) : undefined
      const log = typeof tail === 'string' ? readLogTail(tail, Buffer.byteLength(tail) < maxBytes) : tail
      return describeTest(place.project.path, job, facts, rules, log)
    },
  }
}

/** What GitLab refuses for good is as good as not there; an outage is one. */
async function orNothing<T>(answer: Promise<T | null>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof GitLabError && error.failure === 'permanent') return null
    throw error
  }
}

/** The configured project and the number that an address names; whether GitLab agrees is asked afterwards. */
function findPlace(projects: readonly MrProjectConfig[], jobUrl: string) {
  const [, base = '', path = '', id = ''] =
    /^(https?:\/\/[^/?#]+\/([^?#]+)\/-\/jobs\/)(\d{1,15})\/?(?:[?#].*)?$/.exec(jobUrl) ?? []
  // GitLab may live below a path of its host.
  const project = projects.find((one) => `/${path}`.toLowerCase().endsWith(`/${one.path.toLowerCase()}`))
  return project === undefined ? null : { project, base, jobId: Number(id) }
}

function describeTest(project: string, job: GitLabJob, facts: JobFacts, rules: Rules, log: Log): HerderTest {
  const found = findMatcher(rules.matchers, facts, log)
  const matcher = found === 'needs_log' ? null : found
  return {
    job: {
      project,
      id: job.id,
      name: job.name,
      stage: job.stage,
      status: job.status,
      failure_reason: job.failureReason,
      allow_failure: job.allowFailure,
      url: job.webUrl,
    },
    log: log === undefined ? 'not_needed' : log === null ? 'hidden' : 'read',
    matcher: matcher?.name ?? null,
    verdict: verdictOn(job, rules, matcher),
    matchers: rules.matchers.map((one) => {
      const conditions = checkConditions(one, facts, log)
      const { name, source, action } = one
      return { name, source, action, fits: conditions.every(({ holds }) => holds === true), conditions }
    }),
  }
}

function verdictOn(job: GitLabJob, { enabled, settings }: Rules, matcher: Matcher | null): string {
  if (job.status !== 'failed') return `It is ${job.status}: the herder looks at failed jobs only.`
  if (job.allowFailure) return 'It may fail (allow_failure), so the herder leaves it alone.'
  if (!enabled) return 'The herder is off for this project.'
  if (matcher === null) return 'No matcher knows it: it is named to people, and not run again.'
  switch (matcher.action) {
    case 'ignore':
      return `${matcher.name} knows it, and leaves it as it is.`
    case 'report':
      return `${matcher.name} knows it, and tells people: ${matcher.message}`
    case 'retry': {
      const wait = Math.min(matcher.delayMs, settings.max_delay) / 1_000
      return `${matcher.name} knows it: it is run again up to ${matcher.maxRetries} times in a pipeline, ${wait} s after it was seen, if everything else that failed there may be run again as well.`
    }
  }
}
