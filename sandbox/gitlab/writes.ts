/**
 * The list of everything that was really changed, in order: what a test asks for when it must know that something was done
 * exactly once, whatever the clients were answered. It starts empty with the process, and nothing is ever left out.
 */
import { branchOf, kindOf, pipelineOf } from './ci/jobs.ts'
import type { SandboxContext } from './context.ts'
import { ZERO_SHA } from './git/repository.ts'

export interface Write {
  /** The sandbox's clock, ISO 8601. */
  readonly at: string
  /**
   * `push` (also by a merge into its target), `delete_branch`, `note`, `edit_note`, `retry_job`, and what happens to merge
   * requests in GitLab's words: `open`, `update`, `close`, `reopen`, `merge`, `approved`, `approval`, …
   */
  readonly kind: string
  /** Full path of the project. */
  readonly project: string
  /** Of a merge request and its notes: the source branch. */
  readonly branch: string | null
  readonly mergeRequestIid: number | null
  /** What the branch, or the merge request's branch, was at afterwards; null when it is gone, and for notes. */
  readonly sha: string | null
  /** User name of who did it. */
  readonly user: string
}

export type WriteFilter = {
  readonly [Key in 'kind' | 'project' | 'branch' | 'mergeRequestIid' | 'user']?: Write[Key] | undefined
}

/** The writes that are as the filter says, oldest first. */
export type FindWrites = (filter?: WriteFilter) => readonly Write[]

/** Begins the list. Ends with the context's signals. */
export function recordWrites(context: SandboxContext): FindWrites {
  const writes: Write[] = []
  const { signals } = context

  function add(write: Omit<Write, 'at' | 'project' | 'user'>, projectId: number, userId: number): void {
    writes.push({
      at: context.timestamp(),
      project: context.findProject(projectId)?.pathWithNamespace ?? String(projectId),
      user: context.findUser(userId)?.username ?? String(userId),
      ...write,
    })
  }

  signals.on('push', ({ project, branch, after, userId }) => {
    const gone = after === ZERO_SHA
    const kind = gone ? 'delete_branch' : 'push'
    add({ kind, branch, mergeRequestIid: null, sha: gone ? null : after }, project.id, userId)
  })
  signals.on('merge_request', ({ action, mergeRequest, userId, oldrev }) => {
    // The request has seen its branch move; the push itself is in the list.
    if (oldrev !== undefined) return
    const { iid, sourceBranch, sha, projectId } = mergeRequest
    add({ kind: action, branch: sourceBranch, mergeRequestIid: iid, sha }, projectId, userId)
  })
  signals.on('note', ({ note, edited }) => {
    const { projectId, noteableIid, authorId } = note
    const mergeRequest = note.noteableType === 'MergeRequest' ? context.findMergeRequest(projectId, noteableIid) : null
    const kind = edited ? 'edit_note' : 'note'
    const branch = mergeRequest?.sourceBranch ?? null
    add({ kind, branch, mergeRequestIid: mergeRequest?.iid ?? null, sha: null }, projectId, authorId)
  })

  const retried = new Set<number>()
  signals.on('job', ({ job }) => {
    const isNew = job.attempt > 1 && job.status === 'created' && !retried.has(job.id)
    if (!isNew || kindOf(job) === 'external') return
    retried.add(job.id)
    const pipeline = pipelineOf(context, job)
    const { projectId, userId } = job
    const mergeRequestIid = pipeline.mergeRequestIid
    add(
      { kind: 'retry_job', branch: branchOf(context, pipeline), mergeRequestIid, sha: pipeline.sha },
      projectId,
      userId,
    )
  })

  return (filter = {}) => {
    const wanted = Object.entries(filter) as [keyof WriteFilter, unknown][]
    return writes.filter((write) => wanted.every(([key, value]) => value === undefined || write[key] === value))
  }
}
