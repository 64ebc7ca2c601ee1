/** The ways a merge request's item ends, and how what was made in GitLab is put away. */
import type { GitLabBranch, GitLabMergeRequest } from '../../../gitlab/port.ts'
import type { Draft } from '../../../queue/draft.ts'
import { type Build, type Builds, type Component, observeBuild, rowOf } from '../builds.ts'
import type { MrDetail } from '../detail.ts'
import { NEEDS_BUILD, NEEDS_DASHBOARD_LINK, NEEDS_EMPTY_CHECK, NEEDS_MR, NEEDS_RECONCILE } from '../dimensions.ts'
import type { Action } from './context.ts'
import { readMark } from './trailers.ts'

/** It is merged: ended, unless builds of what was merged are to be waited for. `again`: for those that have not succeeded, anew. */
export function finishMerged(action: Action, mergeRequest: GitLabMergeRequest, { again = false } = {}): void {
  const { services, draft, context } = action
  const { detail } = draft
  const isKnown = detail.builds !== null && detail.mergeCommitSha === commitOf(mergeRequest)
  if (!isKnown) detail.builds = null
  recordMerge(draft, mergeRequest)
  const policy = services.inspector.policyOf(detail.project)
  const components = isElsewhere(detail, mergeRequest) ? [] : (policy?.components ?? [])
  if (components.length === 0) {
    draft.finish('completed', resolutionOf(detail, mergeRequest))
    return
  }
  for (const handled of [NEEDS_MR, NEEDS_RECONCILE, NEEDS_EMPTY_CHECK]) draft.settle(handled)
  if (isKnown && !again) return
  detail.builds = armBuilds(draft, components, context.now)
  if (again) draft.need(NEEDS_BUILD)
  if (policy?.note) draft.need(NEEDS_DASHBOARD_LINK)
}

/** It is merged, and nothing is waited for. */
export function endMerged(draft: Draft<MrDetail>, mergeRequest: GitLabMergeRequest): void {
  recordMerge(draft, mergeRequest)
  draft.finish('completed', resolutionOf(draft.detail, mergeRequest))
}

/** What was merged is history: other content begins anew, and waits for no build of the old. */
export function forgetMerge(draft: Draft<MrDetail>): void {
  draft.detail.mergeCommitSha = null
  draft.detail.mergedAt = null
  draft.detail.builds = null
  for (const { dimension, variant } of draft.dimensions) {
    if (dimension === NEEDS_BUILD) draft.settle(NEEDS_BUILD, { variant })
  }
}

function recordMerge(draft: Draft<MrDetail>, mergeRequest: GitLabMergeRequest): void {
  observe(draft, mergeRequest)
  draft.detail.mergeCommitSha = commitOf(mergeRequest)
  draft.detail.mergedAt = mergeRequest.mergedAt === null ? null : new Date(mergeRequest.mergedAt)
}

/** A fast-forward makes no commit: the head itself is what landed. */
function commitOf({ mergeCommitSha, sha }: GitLabMergeRequest): string | null {
  return mergeCommitSha ?? sha
}

function resolutionOf(detail: MrDetail, mergeRequest: GitLabMergeRequest): string {
  return isElsewhere(detail, mergeRequest) ? 'merged_elsewhere' : 'merged'
}

function isElsewhere({ resolvedTarget }: MrDetail, { targetBranch }: GitLabMergeRequest): boolean {
  return resolvedTarget !== null && resolvedTarget !== targetBranch
}

function armBuilds(draft: Draft<MrDetail>, components: readonly Component[], now: Date): Builds {
  const before = draft.detail.builds ?? {}
  const builds: Record<string, Build> = {}
  for (const { name, timeout } of components) {
    const known = before[name]
    const seen = known === undefined ? null : observeBuild(known, rowOf(draft.dimensions, name), now)
    if (seen?.outcome === 'succeeded') {
      builds[name] = seen
      continue
    }
    const until = new Date(now.getTime() + timeout).toISOString()
    builds[name] = { outcome: 'waiting', message: null, url: null, since: now.toISOString(), until }
    draft.need(NEEDS_BUILD, { variant: name, deferMs: timeout })
  }
  return builds
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
