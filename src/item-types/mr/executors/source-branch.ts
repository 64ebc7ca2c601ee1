/**
 * Brings the source branch to what the caller wants: the target's head plus exactly one commit. It writes only to a branch
 * that is not there or whose head the service wrote itself; a head it does not know is overwritten only when the submission
 * forces it. What GitLab made of a commit is compared with what was inspected before anything is recorded. A commit that was
 * made although its answer was lost is recognised by its mark, compared in the same way, and not made again.
 */
import type { GitLabBranch, GitLabCommit, GitLabCommitRequest } from '../../../gitlab/port.ts'
import { WorkQueueError } from '../../../lib/errors.ts'
import { commitHashOf } from '../identity.ts'
import type { MrSubmission } from '../schema.ts'
import { findOwner } from './branch-owner.ts'
import { type Action, refuse, textPolicyOf } from './context.ts'
import { discard } from './discard-commit.ts'
import { type PlanOnTree, planOn } from './plan-on-tree.ts'
import type { Target } from './project.ts'
import { findTakenBack } from './taken-back.ts'
import { type Mark, markedMessage } from './trailers.ts'
import { holdsExactly } from './verify-commit.ts'

/**
 * `ready`: the branch is as wanted. `nothing_to_change`: the target is, without it. `taken_over`: somebody else pushed to
 * a merge request of ours; their commits stay.
 */
export interface BranchOutcome {
  readonly state: 'ready' | 'nothing_to_change' | 'taken_over'
  /** Files that somebody else has changed in the target meanwhile, and that this write changes back. */
  readonly takenBack: readonly string[]
}

export interface BranchWish {
  readonly content: MrSubmission
  readonly target: Target
  /** The item has an open merge request of its own on this branch. */
  readonly hasOpenMergeRequest: boolean
}

export async function writeSourceBranch(action: Action, wish: BranchWish): Promise<BranchOutcome> {
  const { draft } = action
  const { content, target } = wish
  const branch = await readBranch(action, wish)
  const commitHash = commitHashOf(content, target.branch.name)
  const owner = await findOwner(action, target, branch)
  const isRecognised =
    branch !== null && owner.mark !== null && (await recognise(action, wish, branch, owner.mark, commitHash))
  const isForeign = owner.is === 'stranger' && !isRecognised
  if (isForeign && branch !== null && !content.force_overwrite) return leaveToOthers(action, wish, branch, commitHash)
  if (owner.is === 'service' && owner.mark?.overwrote !== undefined) draft.detail.overwrittenSha = owner.mark.overwrote
  if (branch !== null && isUpToDate(action, branch, target.branch, commitHash)) {
    draft.detail.headSha = branch.sha
    return { state: 'ready', takenBack: [] }
  }

  const plan = await planOn(action, content, target.project.id, target.branch.sha)
  if (plan.findings.length > 0) {
    refuse(plan.findings[0]?.code ?? 'not_applicable', plan.findings.map(({ message }) => message).join(' '))
  }
  if (plan.actions.length === 0) return { state: 'nothing_to_change', takenBack: [] }
  const overwrote = isForeign && branch !== null ? { overwrote: branch.sha } : {}
  const mark = { itemId: draft.item.id, commitHash, ...overwrote }
  const takenBack = await findTakenBack(action, target, branch, plan, commitHash)
  await write(action, wish, branch, plan, mark)
  return { state: 'ready', takenBack }
}

async function readBranch(
  { services, context }: Action,
  { content, target }: BranchWish,
): Promise<GitLabBranch | null> {
  const branch = await services.gitlab.getBranch(target.project.id, content.source_branch, context)
  if (branch?.protected || branch?.default) {
    refuse('source_branch_protected', `The branch ${content.source_branch} is protected; choose another source branch.`)
  }
  return branch
}

function leaveToOthers(
  { draft: { detail } }: Action,
  { content, hasOpenMergeRequest }: BranchWish,
  branch: GitLabBranch,
  commitHash: string,
): BranchOutcome {
  if (!hasOpenMergeRequest) {
    refuse(
      'branch_not_owned',
      `The branch ${content.source_branch} exists and holds commits that this service did not write; choose another source branch, or delete it.`,
    )
  }
  // What was written before is not what is wanted now: should it come to be the head again, it must not be merged as it is.
  if (detail.writtenHash !== commitHash) {
    detail.writtenSha = null
    detail.writtenHash = null
  }
  detail.headSha = branch.sha
  return { state: 'taken_over', takenBack: [] }
}

/** A rebuild is due only while the target has moved: the same commit on the same head would meet the same conflict. */
function isUpToDate({ draft }: Action, branch: GitLabBranch, target: GitLabBranch, commitHash: string): boolean {
  const { writtenSha, writtenHash, rebuildWanted } = draft.detail
  if (branch.sha !== writtenSha || writtenHash !== commitHash) return false
  return !rebuildWanted || branch.parentShas.includes(target.sha)
}

/**
 * A commit of this item that it does not remember. It is taken for written only if it is as wanted, word for word and file for
 * file, on the target; then it does not matter whose token made it.
 */
async function recognise(
  action: Action,
  { content, target: { project, branch: target } }: BranchWish,
  head: GitLabBranch,
  mark: Mark,
  commitHash: string,
): Promise<boolean> {
  const { services, draft, context } = action
  const [parent] = head.parentShas
  if (mark.commitHash !== commitHash || parent === undefined) return false
  if (head.headMessage.trimEnd() !== markedMessage(content.commit_message, mark, textPolicyOf(action)).trimEnd())
    return false
  // An approval counts when it came after the commit, but a commit that came by Git may say any time: it is made anew.
  if (draft.detail.needsReview) return false
  const { commitCount } = await services.gitlab.compare(project.id, target.sha, head.sha, false, context)
  if (commitCount !== 1) return false
  const plan = await planOn(action, content, project.id, parent)
  if (await holdsExactly(services.gitlab, project.id, head, plan, context)) {
    recordWritten(action, head.sha, mark)
    return true
  }
  context.log.warn(
    { work_item_id: draft.item.id, branch: head.name, sha: head.sha },
    'a commit with the mark of this item holds something else than was inspected; it is not taken for written',
  )
  return false
}

async function write(
  action: Action,
  wish: BranchWish,
  seen: GitLabBranch | null,
  plan: PlanOnTree,
  mark: Mark,
): Promise<void> {
  const { services, draft, context } = action
  const { content, target } = wish
  if (mark.overwrote !== undefined) {
    context.log.warn(
      { work_item_id: draft.item.id, branch: content.source_branch, sha: mark.overwrote },
      "somebody else's commits are written over, as the submission asks",
    )
  }
  const written = await commit(action, wish, seen, {
    branch: content.source_branch,
    startSha: target.branch.sha,
    message: markedMessage(content.commit_message, mark, textPolicyOf(action)),
    actions: plan.actions,
    // Where there was no branch there must be none: a commit of an earlier try may still be on its way, and is not to be
    // written over unread.
    force: seen !== null,
  })
  // One look that finds a difference may have met a part of GitLab that lags behind, so a second one decides.
  const isAsInspected = () => holdsExactly(services.gitlab, target.project.id, written, plan, context)
  if (!(await isAsInspected()) && !(await isAsInspected())) return discard(action, target.project.id, written.sha)
  if (mark.overwrote !== undefined) draft.detail.overwrittenSha = mark.overwrote
  recordWritten(action, written.sha, mark)
}

/** @throws WorkQueueError, transient, when the branch is not as it was seen: it is read first. */
async function commit(
  action: Action,
  wish: BranchWish,
  seen: GitLabBranch | null,
  request: GitLabCommitRequest,
): Promise<GitLabCommit> {
  const { services, context } = action
  const projectId = wish.target.project.id
  // GitLab has no way to say "only while the head is still this one". This keeps the time in which somebody's push would be
  // lost to that of one call.
  if (seen !== null && (await readBranch(action, wish))?.sha !== seen.sha) throw moved(request.branch)
  try {
    return await services.gitlab.createCommit(projectId, request, context)
  } catch (error) {
    if (seen !== null || context.signal.aborted) throw error
    if ((await services.gitlab.getBranch(projectId, request.branch, context)) === null) throw error
    throw moved(request.branch, error)
  }
}

function moved(branch: string, cause?: unknown): WorkQueueError {
  return new WorkQueueError('branch_moved', `The branch ${branch} has changed meanwhile; it is read first.`, {
    cause,
    failure: 'transient',
  })
}

function recordWritten({ draft: { detail } }: Action, sha: string, { commitHash }: Mark): void {
  detail.writtenSha = sha
  detail.writtenHash = commitHash
  detail.headSha = sha
  detail.headPipelineId = null
  detail.headPipelineStatus = null
  detail.unsettledLooks = 0
  // Of the commit before.
  detail.waitsFor = null
}
