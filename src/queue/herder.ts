/**
 * What an item type may offer whose work waits for CI: what its herder knows about failed jobs. A herder runs them again where a
 * matcher of the configuration knows their failure. The answers are for operators, in the words of the REST API. Decision 0078.
 */

export interface Herder {
  /** What came of the retries since then. */
  statistics(since: Date): Promise<HerderStatistics>
  /** Failures since then that no matcher knew, most frequent first, at most `limit` kinds. */
  coverage(since: Date, limit: number): Promise<HerderCoverage>
  /** What each matcher would do about this job, and why. @throws WorkQueueError `job_not_found`. */
  test(jobUrl: string, signal: AbortSignal): Promise<HerderTest>
}

export interface HerderStatistics {
  readonly matchers: readonly MatcherStatistics[]
  /** Those that needed most retries first. */
  readonly jobs: readonly JobStatistics[]
}

interface MatcherStatistics {
  readonly matcher: string
  readonly failures: number
  readonly retries: number
  /** Retries that succeeded, failed again, or of which nothing is known (yet). */
  readonly succeeded: number
  readonly failed_again: number
  readonly unknown: number
}

export interface JobStatistics {
  readonly project: string
  readonly job: string
  readonly failures: number
  readonly retries: number
  /** Pipelines in which it was run again, and in which that helped. */
  readonly pipelines_retried: number
  readonly pipelines_recovered: number
  /** All pipelines of the project that the service knows of. */
  readonly pipelines_of_project: number
  readonly last_seen_at: string
}

export interface HerderCoverage {
  readonly failures: number
  readonly known: number
  readonly unknown: readonly UnknownFailure[]
}

interface UnknownFailure {
  readonly project: string
  readonly job: string
  readonly stage: string
  readonly failure_reason: string
  readonly failures: number
  readonly pipelines: number
  /** How many were followed by a run that succeeded, whoever started it. */
  readonly recovered: number
  readonly last_seen_at: string
  readonly last_job_url: string
  /** The matcher that would know it by now; null: none, or only by its log. */
  readonly known_by: string | null
}

export interface HerderTest {
  readonly job: {
    readonly project: string
    readonly id: number
    readonly name: string
    readonly stage: string
    readonly status: string
    readonly failure_reason: string | null
    readonly allow_failure: boolean
    readonly url: string
  }
  /** Whether its end was looked at. */
  readonly log: 'read' | 'hidden' | 'not_needed'
  readonly matcher: string | null
  /** One sentence: what the herder would do. */
  readonly verdict: string
  readonly matchers: readonly TestedMatcher[]
}

interface TestedMatcher {
  readonly name: string
  readonly source: string
  readonly action: string
  readonly fits: boolean
  readonly conditions: readonly {
    readonly about: string
    readonly expected: readonly string[]
    readonly holds: boolean | null
  }[]
}
