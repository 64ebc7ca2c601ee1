/**
 * Brings the source branch to what the caller wants: the target's head plus exactly one commit. It writes only to a branch
 * that is not there or whose head the service wrote itself; a head it does not know is never overwritten. A commit that
 * was made although its answer was lost is recognised by its mark and its content, and not made again.
 */
import type { GitLabBranch, GitLabCommitRequest } from '../../../gitlab/port.ts'
import { WorkQueueError } from '../../../lib/errors.ts'
import { type FilePlan, planFiles } from '../file-plan.ts'
import { commitHashOf } from '../identity.ts'
import { touchedPaths } from '../inspection/file-rules.ts'
import type { MrSubmission } from '../schema.ts'
import { isOwnCommit } from '../store.ts'
import { readTargetTree } from '../target-tree.ts'
import { type Action, refuse } from './context.ts'
import type { Target } from './project.ts'
import { type Mark, markedMessage, readMark } from './trailers.ts'

/**
 * `ready`: the branch is as wanted. `nothing_to_change`: the target is, without it. `taken_over`: somebody else pushed to
 * a merge request of ours; their commits stay.
 */
export type BranchState = 'ready' | 'nothing_to_change' | 'taken_over'

export interface BranchWish {
  readonly content: MrSubmission
  readonly target: Target
  /** The item has an open merge request of its own on this branch. */
  readonly hasOpenMergeRequest: boolean
}

export async function writeSourceBranch(action: Action, wish: BranchWish): Promise<BranchState> {
  const { services, draft, context } = action
  const { content, target } = wish
  const { detail, item } = draft
  const branch = await services.gitlab.getBranch(target.project.id, content.source_branch, context)
  if (branch?.protected || branch?.default) {
    refuse('source_branch_protected', `The branch ${content.source_branch} is protected; choose another source branch.`)
  }
  const mark = { itemId: item.id, commitHash: commitHashOf(content, target.branch.name) }
  const owner = await findOwner(action, wish, branch, mark)
  if (owner === 'stranger') {
    if (detail.writtenSha !== null && wish.hasOpenMergeRequest) return 'taken_over'
    refuse(
      'branch_not_owned',
      `The branch ${content.source_branch} exists and holds commits that this service did not write; choose another source branch, or delete it.`,
    )
  }
  if (branch !== null && isUpToDate(action, branch, target.branch, mark.commitHash)) {
    detail.headSha = branch.sha
    return 'ready'
  }

  const plan = await planOn(action, wish, target.branch.sha)
  if (plan.findings.length > 0) {
    refuse(plan.findings[0]?.code ?? 'not_applicable', plan.findings.map(({ message }) => message).join(' '))
  }
  if (plan.actions.length === 0) return 'nothing_to_change'
  const sha = await commit(action, wish, branch, {
    branch: content.source_branch,
    startSha: target.branch.sha,
    message: markedMessage(content.commit_message, mark),
    actions: plan.actions,
    // Where there was no branch there must be none: a commit of an earlier try may still be on its way, and is not to be
    // written over unread.
    force: branch !== null,
  })
  recordWritten(action, sha, mark.commitHash)
  return 'ready'
}

async function commit(
  { services, context }: Action,
  { target }: BranchWish,
  seen: GitLabBranch | null,
  request: GitLabCommitRequest,
): Promise<string> {
  try {
    return (await services.gitlab.createCommit(target.project.id, request, context)).sha
  } catch (error) {
    if (seen !== null || context.signal.aborted) throw error
    if ((await services.gitlab.getBranch(target.project.id, request.branch, context)) === null) throw error
    throw new WorkQueueError(
      'branch_appeared',
      `The branch ${request.branch} has appeared meanwhile; it is read first.`,
      {
        cause: error,
        failure: 'transient',
      },
    )
  }
}

/** A rebuild is due only while the target has moved: the same commit on the same head would meet the same conflict. */
function isUpToDate({ draft }: Action, branch: GitLabBranch, target: GitLabBranch, commitHash: string): boolean {
  const { writtenSha, writtenHash, rebuildWanted } = draft.detail
  if (branch.sha !== writtenSha || writtenHash !== commitHash) return false
  return !rebuildWanted || branch.parentShas.includes(target.sha)
}

async function findOwner(
  action: Action,
  wish: BranchWish,
  branch: GitLabBranch | null,
  wanted: Mark,
): Promise<'nobody' | 'service' | 'stranger'> {
  if (branch === null) return 'nobody'
  const { services, draft, context } = action
  if (branch.sha === draft.detail.writtenSha) return 'service'
  if (await isOwnCommit(services.db, wish.target.project.id, branch.name, branch.sha)) return 'service'
  const mark = readMark(branch.headMessage)
  if (mark?.itemId !== wanted.itemId) return 'stranger'
  if (mark.commitHash === wanted.commitHash && (await holdsExactly(action, wish, branch))) {
    recordWritten(action, branch.sha, mark.commitHash)
    return 'service'
  }
  // The answer to the commit of an earlier content may have been lost. What a person amended names them as committer.
  const { commitEmail } = await services.gitlab.getOwnUser(context)
  return commitEmail !== null && commitEmail === branch.committerEmail ? 'service' : 'stranger'
}

/**
 * Is the head one commit on its parent, with the wanted files and no others? The mark alone proves nothing: a person who
 * amends the service's commit keeps its message.
 */
async function holdsExactly(action: Action, wish: BranchWish, head: GitLabBranch): Promise<boolean> {
  const { services, context } = action
  const projectId = wish.target.project.id
  const [parent, ...more] = head.parentShas
  if (parent === undefined || more.length > 0) return false
  const onTarget = await services.gitlab.compare(projectId, wish.target.branch.sha, head.sha, false, context)
  if (onTarget.commitCount !== 1) return false
  const { expected } = await planOn(action, wish, parent)
  const { diffs, timedOut } = await services.gitlab.compare(projectId, parent, head.sha, true, context)
  if (timedOut || diffs.some(({ oldPath, newPath }) => !expected.has(oldPath) || !expected.has(newPath))) return false
  const paths = [...expected.keys()]
  const { entries } = await readTargetTree(services.gitlab, projectId, head.sha, paths, context)
  return paths.every((path) => {
    const wanted = expected.get(path)
    const entry = entries.get(path)
    if (!wanted || !entry) return !wanted && !entry
    return wanted.mode === entry.mode && wanted.blobIds.includes(entry.id)
  })
}

async function planOn({ services, context }: Action, { content, target }: BranchWish, sha: string): Promise<FilePlan> {
  const paths = content.file_actions.flatMap((fileAction) => touchedPaths(fileAction).map(({ path }) => path))
  return planFiles(content.file_actions, await readTargetTree(services.gitlab, target.project.id, sha, paths, context))
}

function recordWritten({ draft: { detail } }: Action, sha: string, commitHash: string): void {
  detail.writtenSha = sha
  detail.writtenHash = commitHash
  detail.headSha = sha
  detail.headPipelineId = null
  detail.headPipelineStatus = null
  detail.unsettledLooks = 0
}
