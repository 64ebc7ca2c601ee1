/**
 * Matchers at work: which one knows a failure, and why the others do not, condition by condition. Pure. What a condition is
 * about is asked in the order of its cost; the log is asked for only where everything else fits.
 */
import { RE2JS } from 're2js'
import { contentHash } from '../../../lib/content-hash.ts'
import type { MrConfig, MrProjectConfig } from '../config.ts'
import { BUILT_IN_MATCHERS } from './built-in-matchers.ts'
import type { HerderConfig, MatcherConfig } from './config.ts'

export interface Matcher {
  readonly name: string
  readonly source: 'project' | 'service' | 'built-in'
  readonly action: MatcherConfig['action']
  readonly message: string | null
  readonly maxRetries: number
  readonly delayMs: number
  readonly budget: number
  readonly conditions: readonly Condition[]
}

interface Condition {
  readonly about: 'job' | 'stage' | 'failure_reason' | 'log_tail'
  /** As the configuration says it. */
  readonly expected: readonly string[]
  readonly holds: (text: string) => boolean
}

/** What a matcher can know of a job. */
export interface JobFacts {
  readonly name: string
  readonly stage: string
  readonly failureReason: string
}

/** The end of its log; null: GitLab does not show it; undefined: not asked for yet. */
export type Log = string | null | undefined

/** The rules of one project. */
export interface Rules {
  readonly enabled: boolean
  /** The first that fits decides. */
  readonly matchers: readonly Matcher[]
  readonly settings: HerderConfig
  /** Another one, when anything in the configuration of these rules is another. */
  readonly fingerprint: string
}

export interface CheckedCondition {
  readonly about: Condition['about']
  readonly expected: readonly string[]
  /** null: the log was not asked for, because something else does not fit. */
  readonly holds: boolean | null
}

/** Words that newer servers have split, and what has come of them. */
const SPLIT_REASONS: Readonly<Record<string, readonly string[]>> = {
  stuck_or_timeout_failure: [
    ...['stuck_pending_with_matching_runners', 'stuck_pending_no_matching_runners'],
    ...['no_updates_running', 'no_updates_canceling'],
  ],
  job_execution_timeout: ['job_execution_server_timeout', 'server_timeout_running', 'server_timeout_canceling'],
}

/** Compiles the rules of each project once. */
export function createRules({ herder, projects }: MrConfig): (project: MrProjectConfig) => Rules {
  const compile = (source: Matcher['source']) => (config: MatcherConfig) => compileMatcher(config, source, herder)
  const general = [
    ...herder.matchers.map(compile('service')),
    ...(herder.built_in_matchers ? BUILT_IN_MATCHERS : []).map(compile('built-in')),
  ]
  const rulesOf = (project: MrProjectConfig): Rules => ({
    enabled: project.herder.enabled ?? herder.enabled,
    matchers: [...project.herder.matchers.map(compile('project')), ...general],
    settings: herder,
    fingerprint: contentHash(JSON.stringify([herder, project.herder, BUILT_IN_MATCHERS])),
  })
  const known = new Map(projects.map((project) => [project.path, rulesOf(project)]))
  return (project) => known.get(project.path) ?? rulesOf(project)
}

/** The first matcher that fits; null: none does; `needs_log`: which one, only the log can tell. */
export function findMatcher(matchers: readonly Matcher[], job: JobFacts, log: Log): Matcher | null | 'needs_log' {
  for (const matcher of matchers) {
    const fits = matcher.conditions.reduce<boolean | null>(
      (before, condition) => (before === true ? holdsFor(condition, job, log) : before),
      true,
    )
    if (fits === null) return 'needs_log'
    if (fits) return matcher
  }
  return null
}

/** Every condition of a matcher on its own, for people. */
export function checkConditions({ conditions }: Matcher, job: JobFacts, log: Log): readonly CheckedCondition[] {
  return conditions.map((condition) => ({
    about: condition.about,
    expected: condition.expected,
    holds: holdsFor(condition, job, log),
  }))
}

/** null: it is about a log that was not asked for yet. */
function holdsFor({ about, holds }: Condition, job: JobFacts, log: Log): boolean | null {
  switch (about) {
    case 'job':
      return holds(job.name)
    case 'stage':
      return holds(job.stage)
    case 'failure_reason':
      return holds(job.failureReason)
    case 'log_tail':
      return log === undefined ? null : log !== null && holds(log)
  }
}

function compileMatcher(config: MatcherConfig, source: Matcher['source'], herder: HerderConfig): Matcher {
  const { job, stage, failure_reason: reasons, log_tail: pattern } = config.match
  const conditions: Condition[] = []
  if (job !== undefined) conditions.push({ about: 'job', expected: job, holds: anyGlob(job) })
  if (stage !== undefined) conditions.push({ about: 'stage', expected: stage, holds: anyGlob(stage) })
  if (reasons !== undefined) {
    const words = new Set(reasons.flatMap((reason) => [reason, ...(SPLIT_REASONS[reason] ?? [])]))
    conditions.push({ about: 'failure_reason', expected: reasons, holds: (reason) => words.has(reason) })
  }
  if (pattern !== undefined) {
    const compiled = RE2JS.compile(pattern, RE2JS.MULTILINE)
    conditions.push({ about: 'log_tail', expected: [pattern], holds: (log) => compiled.matcher(log).find() })
  }
  return {
    name: config.name,
    source,
    action: config.action,
    message: config.message ?? null,
    maxRetries: config.max_retries ?? herder.max_retries,
    delayMs: config.delay ?? herder.delay,
    budget: config.budget ?? herder.budget,
    conditions,
  }
}

/** Names of jobs hold slashes, brackets and colons, so nothing but `*` is a wildcard. */
function anyGlob(globs: readonly string[]): (text: string) => boolean {
  const patterns = globs.map((glob) => glob.split(/\*+/))
  return (text) => patterns.some((parts) => fitsGlob(parts, text))
}

/** The texts between the stars, in their order; each is looked for once, from where the one before has ended. */
function fitsGlob(parts: readonly string[], text: string): boolean {
  const [first = '', ...rest] = parts
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false
  let from = first.length
  for (const part of rest) {
    const at = text.indexOf(part, from)
    if (at < 0) return false
    from = at + part.length
  }
  return from <= text.length - last.length
}
