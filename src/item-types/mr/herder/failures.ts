/** From all runs of the jobs of a pipeline to the failures that keep it from being green. Pure. */
import type { GitLabJob } from '../../../gitlab/port.ts'

/** One run of a job. A bridge is here only where no job below it explains its end. */
export interface Run extends GitLabJob {
  readonly kind: 'job' | 'bridge'
  /** Where it ran: the pipeline itself, or a child of it. */
  readonly pipelineId: number
}

/** The latest run of a job that failed, or that somebody has canceled. */
export interface Failure {
  readonly kind: Run['kind']
  readonly jobId: number
  readonly name: string
  readonly stage: string
  readonly failureReason: string
  readonly isCanceled: boolean
  readonly webUrl: string
  /** How often the job has run in this pipeline, whoever started it. */
  readonly runs: number
  /** How many of these failed. */
  readonly failures: number
}

/** How a run has ended that another one has followed. */
export interface Outcome {
  readonly jobId: number
  readonly outcome: EndStatus
}

const ENDS = ['success', 'failed', 'canceled'] as const
export type EndStatus = (typeof ENDS)[number]

/** GitLab's words are shorter. */
const MAX_REASON = 100

/** Jobs that may fail are left alone, and of each other job only its latest run counts. */
export function findFailures(runs: readonly Run[]): readonly Failure[] {
  return runsByJob(runs).flatMap((all) => {
    const latest = all.at(-1)
    if (latest === undefined || latest.allowFailure) return []
    if (latest.status !== 'failed' && latest.status !== 'canceled') return []
    return [
      {
        kind: latest.kind,
        jobId: latest.id,
        name: latest.name,
        stage: latest.stage,
        failureReason: (latest.failureReason ?? 'unknown_failure').slice(0, MAX_REASON),
        isCanceled: latest.status === 'canceled',
        webUrl: latest.webUrl,
        runs: all.length,
        failures: all.filter(({ status }) => status === 'failed').length,
      },
    ]
  })
}

/** What came of each run that was followed by another which has ended: how that one ended. */
export function findOutcomes(runs: readonly Run[]): readonly Outcome[] {
  return runsByJob(runs).flatMap((all) =>
    all.slice(1).flatMap((next, index) => {
      const outcome = ENDS.find((status) => status === next.status)
      const before = all[index]
      return before === undefined || outcome === undefined ? [] : [{ jobId: before.id, outcome }]
    }),
  )
}

/** The runs of each job, oldest first: GitLab's numbers grow. */
function runsByJob(runs: readonly Run[]): readonly (readonly Run[])[] {
  const jobs = new Map<string, Run[]>()
  for (const run of runs) {
    const key = `${run.pipelineId} ${run.kind} ${run.name}`
    jobs.set(key, [...(jobs.get(key) ?? []), run])
  }
  return [...jobs.values()].map((all) => all.toSorted((a, b) => a.id - b.id))
}
