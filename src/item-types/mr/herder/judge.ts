/**
 * Whether the failed jobs of a pipeline are run again, and when. Pure. All or nothing: as long as one failure stays that no
 * second run helps, the pipeline stays red, and every other retry would be for nothing. Decision 0047.
 */
import type { Failure } from './failures.ts'
import type { Matcher } from './matchers.ts'

export interface KnownFailure extends Failure {
  /** null: no matcher knows it. */
  readonly matcher: Matcher | null
  /** When the service first saw it, by the database's clock; null: just now. */
  readonly seenAt: Date | null
}

/** What has happened before, newest first. */
export interface History {
  /** Retries of this project within the last hour. */
  readonly retries: readonly { readonly matcher: string; readonly at: Date }[]
  /** Failures of all projects within the window of the breaker that a matcher would have retried. */
  readonly failures: readonly Date[]
}

export interface Limits {
  readonly maxDelayMs: number
  readonly breaker: { readonly failures: number; readonly window: number }
}

/** Why a job is not run again. */
export type Obstacle = 'unmatched' | 'ignored' | 'reported' | 'exhausted' | 'canceled' | 'no_job' | 'too_many'

export interface Judgement {
  /** To be run again now: all that failed, or none. */
  readonly retry: readonly KnownFailure[]
  /** Until when the retries have to wait; null: they do not, or there are none. */
  readonly waitingUntil: Date | null
  readonly waitsFor: 'delay' | 'budget' | 'breaker' | null
  /** What no second run helps; with one of these nothing is run again. */
  readonly obstacles: ReadonlyMap<KnownFailure, Obstacle>
  readonly reports: readonly KnownFailure[]
  readonly unmatched: readonly KnownFailure[]
}

const HOUR_MS = 3_600_000
/** With more failed jobs than this in one pipeline something is broken, and their logs are not worth the reading. */
export const MAX_FAILURES = 25

export interface Question {
  readonly failures: readonly KnownFailure[]
  readonly history: History
  readonly limits: Limits
  readonly now: Date
}

export function judge(question: Question): Judgement {
  const { failures, now } = question
  const obstacles = new Map(
    failures.flatMap((failure) => {
      const obstacle = obstacleOf(failure, failures.length)
      return obstacle === null ? [] : [[failure, obstacle] as const]
    }),
  )
  const having = (obstacle: Obstacle) => failures.filter((failure) => obstacles.get(failure) === obstacle)
  const said = { obstacles, reports: having('reported'), unmatched: having('unmatched') }
  if (failures.length === 0 || obstacles.size > 0) return { ...said, retry: [], waitingUntil: null, waitsFor: null }
  const waits = [...waitsOf(question)].toSorted((a, b) => b.until.getTime() - a.until.getTime())
  const [longest] = waits
  if (longest !== undefined && longest.until > now) {
    return { ...said, retry: [], waitingUntil: longest.until, waitsFor: longest.why }
  }
  return { ...said, retry: failures, waitingUntil: null, waitsFor: null }
}

function obstacleOf({ matcher, kind, isCanceled, runs }: KnownFailure, count: number): Obstacle | null {
  // Somebody has stopped it on purpose.
  if (isCanceled) return 'canceled'
  if (kind === 'bridge') return 'no_job'
  if (count > MAX_FAILURES) return 'too_many'
  switch (matcher?.action) {
    case undefined:
      return 'unmatched'
    case 'ignore':
      return 'ignored'
    case 'report':
      return 'reported'
    case 'retry':
      return runs > (matcher?.maxRetries ?? 0) ? 'exhausted' : null
  }
}

interface Wait {
  readonly until: Date
  readonly why: NonNullable<Judgement['waitsFor']>
}

function* waitsOf({ failures, history, limits, now }: Question): Generator<Wait> {
  for (const failure of failures) {
    const seenAt = failure.seenAt ?? now
    yield { until: new Date(seenAt.getTime() + delayOf(failure, limits.maxDelayMs)), why: 'delay' }
  }
  for (const matcher of new Set(failures.flatMap(({ matcher }) => (matcher === null ? [] : [matcher])))) {
    const wanted = failures.filter((failure) => failure.matcher === matcher).length
    const made = history.retries.filter((retry) => retry.matcher === matcher.name).map(({ at }) => at)
    // A pipeline that needs more than the whole budget gets the whole of it.
    const until = windowOpens(made, Math.max(0, matcher.budget - wanted), HOUR_MS)
    if (until !== null) yield { until, why: 'budget' }
  }
  const unseen = failures.filter(({ seenAt }) => seenAt === null).map(() => now)
  const until = windowOpens([...unseen, ...history.failures], limits.breaker.failures - 1, limits.breaker.window)
  if (until !== null) yield { until, why: 'breaker' }
}

/** The wait before the next run: doubled for each run there was, and never longer than the limit. */
export function delayOf({ matcher, runs }: Pick<KnownFailure, 'matcher' | 'runs'>, maxDelayMs: number): number {
  return Math.min((matcher?.delayMs ?? 0) * 2 ** Math.min(runs - 1, 20), maxDelayMs)
}

/** When at most `allowed` of these times, newest first, lie within a window that ends then; null: they do already. */
function windowOpens(times: readonly Date[], allowed: number, windowMs: number): Date | null {
  const tooMany = times[allowed]
  return tooMany === undefined ? null : new Date(tooMany.getTime() + windowMs)
}
