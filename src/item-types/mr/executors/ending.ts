/** The ways a merge request's item ends, and how what was made in GitLab is put away. */
import type { GitLabBranch, GitLabMergeRequest } from '../../../gitlab/port.ts'
import type { Draft } from '../../../queue/draft.ts'
import type { MrDetail } from '../detail.ts'
import type { Action } from './context.ts'
import { readMark } from './trailers.ts'

export function finishMerged(draft: Draft<MrDetail>, mergeRequest: GitLabMergeRequest): void {
  observe(draft, mergeRequest)
  // A fast-forward makes no commit: the head itself is what landed.
  draft.detail.mergeCommitSha = mergeRequest.mergeCommitSha ?? mergeRequest.sha
  draft.detail.mergedAt = mergeRequest.mergedAt === null ? null : new Date(mergeRequest.mergedAt)
  const elsewhere = draft.detail.resolvedTarget !== null && draft.detail.resolvedTarget !== mergeRequest.targetBranch
  draft.finish('completed', elsewhere ? 'merged_elsewhere' : 'merged')
}

/** Records what a look at the merge request has shown. */
export function observe({ detail }: Draft<MrDetail>, mergeRequest: GitLabMergeRequest): void {
  detail.mrIid = mergeRequest.iid
  detail.webUrl = mergeRequest.webUrl
  detail.detailedMergeStatus = mergeRequest.detailedMergeStatus
  // After a push GitLab still shows the pipeline of the commit before, which says nothing about this one.
  const { headPipeline, sha } = mergeRequest
  const pipeline = headPipeline?.sha === sha ? headPipeline : null
  detail.headPipelineId = pipeline?.id ?? null
  detail.headPipelineStatus = pipeline?.status ?? null
}

/**
 * Closes the merge request and deletes the branch if its head is the commit the service wrote. Answers the merge request
 * when it turns out to be merged meanwhile, else null. Safe to repeat.
 */
export async function closeAndCleanUp(
  { services, draft, context }: Action,
  projectId: number,
): Promise<GitLabMergeRequest | null> {
  const { gitlab } = services
  const { mrIid, sourceBranch, writtenSha, resolvedTarget } = draft.detail
  /** Written by this item although the answer never came: it names the item, and our own user as its committer. */
  const isLostCommit = async ({ headMessage, committerEmail }: GitLabBranch) =>
    readMark(headMessage)?.itemId === draft.item.id &&
    committerEmail !== null &&
    committerEmail === (await gitlab.getOwnUser(context)).commitEmail
  const branch = await gitlab.getBranch(projectId, sourceBranch, context)
  const isOurs = branch !== null && (branch.sha === writtenSha || (await isLostCommit(branch)))
  let mergeRequest = mrIid === null ? null : await gitlab.getMergeRequest(projectId, mrIid, context)
  if (mrIid === null && isOurs && resolvedTarget !== null) {
    // It may have been created although its answer was lost.
    mergeRequest = await gitlab.findOpenMergeRequest(projectId, sourceBranch, resolvedTarget, context)
  }
  if (mergeRequest?.state === 'opened') {
    mergeRequest = await gitlab.updateMergeRequest(projectId, mergeRequest.iid, { stateEvent: 'close' }, context)
  }
  if (mergeRequest?.state === 'merged') return mergeRequest
  if (mergeRequest !== null) observe(draft, mergeRequest)
  if (isOurs) await deleteIfStill(branch.sha)
  return null

  /** Read once more, right before: what somebody pushed meanwhile stays, and so does a branch that was protected since. */
  async function deleteIfStill(sha: string): Promise<void> {
    const now = await gitlab.getBranch(projectId, sourceBranch, context)
    if (now?.sha === sha && !now.protected) await gitlab.deleteBranch(projectId, sourceBranch, context)
  }
}
