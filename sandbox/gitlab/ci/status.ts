/**
 * Status arithmetic: what the states of jobs make of a stage and of a pipeline, and what the states of earlier stages make
 * of a job. Pure, and GitLab's own order of rules, so that a pipeline here passes through the statuses it would pass there.
 */
import type { Job, JobScript, JobStatus, PipelineStatus } from '../state.ts'

type Counted = Pick<Job, 'status' | 'allowFailure'>

const COMPLETED: readonly JobStatus[] = ['success', 'failed', 'canceled', 'skipped']

export function isCompleted(status: JobStatus): boolean {
  return COMPLETED.includes(status)
}

/** Still able to change by itself: what a cancel stops and what a page watches. */
export function isAlive(status: JobStatus): boolean {
  return status === 'created' || status === 'pending' || status === 'running'
}

/**
 * The status that these jobs (latest attempts only) have together; `success` for none. A failed or canceled job that may
 * fail counts as passed with warnings, a manual one that may fail does not count.
 */
export function compositeStatus(jobs: readonly Counted[]): PipelineStatus {
  const present = new Set(jobs.map(countedAs))
  const onlyOf = (...statuses: readonly (JobStatus | 'warned' | 'ignored')[]) =>
    [...present].every((status) => statuses.includes(status))
  if (present.size === 0) return 'success'
  if (onlyOf('skipped', 'ignored')) return 'skipped'
  if (onlyOf('success', 'skipped', 'warned', 'ignored')) return 'success'
  if (onlyOf('created', 'warned', 'ignored')) return 'created'
  if (onlyOf('canceled', 'success', 'skipped', 'warned', 'ignored')) return 'canceled'
  if (onlyOf('pending', 'created', 'skipped', 'warned', 'ignored')) return 'pending'
  if (present.has('running') || present.has('pending')) return 'running'
  if (present.has('manual')) return 'manual'
  if (present.has('created')) return 'running'
  return 'failed'
}

/** What becomes of a `created` job once the stages before it have this status together; null: it waits. */
export function promotedStatus(
  when: JobScript['when'],
  prior: PipelineStatus,
): 'pending' | 'manual' | 'skipped' | null {
  if (!isCompleted(prior)) return null
  const passed = prior === 'success' || prior === 'skipped'
  switch (when) {
    case 'on_success':
      return passed ? 'pending' : 'skipped'
    case 'on_failure':
      return prior === 'failed' ? 'pending' : 'skipped'
    case 'always':
      return prior === 'canceled' ? 'skipped' : 'pending'
    case 'manual':
      return passed ? 'manual' : 'skipped'
    default:
      return when satisfies never
  }
}

function countedAs(job: Counted): JobStatus | 'warned' | 'ignored' {
  if (!job.allowFailure) return job.status
  if (job.status === 'failed' || job.status === 'canceled') return 'warned'
  return job.status === 'manual' ? 'ignored' : job.status
}
