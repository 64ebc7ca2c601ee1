/**
 * One look at the merge request, and what follows from it: ended, to be rebuilt, to be merged, or to be looked at again.
 * It reads the single merge request, never a list, because lists are cached views. It merges only on proof: a finished
 * green pipeline of exactly the commit that the service wrote, whatever the project's own settings ask for. Every path
 * that leaves the item active leaves a wake-up behind. Decision 0046.
 */
import type { GitLabMergeRequest } from '../../../gitlab/port.ts'
import type { ExecutorResult } from '../../../queue/item-type.ts'
import { NEEDS_MR, NEEDS_RECONCILE } from '../dimensions.ts'
import { type Action, createExecutor, growingMs, type MrServices, refuseUnlessAllowed, SUCCEEDED } from './context.ts'
import { finishMerged, observe } from './ending.ts'
import { readMark } from './trailers.ts'

/** GitLab is still finding out; the answer comes by itself. */
const UNSETTLED = ['checking', 'unchecked', 'preparing', 'approvals_syncing']
/** Only another commit on a newer target head helps. */
const CONFLICTING = ['conflict', 'need_rebase', 'broken_status']
/** Pipelines that end by themselves; the rest waits for a person. */
const RUNNING = ['created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'scheduled', 'canceling']
/** Looks without any pipeline before there is taken to be none: GitLab makes pipelines a moment after a push. */
const LOOKS_FOR_A_PIPELINE = 4

export function createReconcileMr(services: MrServices) {
  return createExecutor(services, reconcileMr)
}

async function reconcileMr(action: Action): Promise<ExecutorResult> {
  const { services, draft, context } = action
  const { projectId, mrIid } = draft.detail
  const mergeRequest =
    projectId === null || mrIid === null ? null : await services.gitlab.getMergeRequest(projectId, mrIid, context)
  if (mergeRequest === null) {
    draft.detail.mrIid = null
    return handBack(action, 'the merge request does not exist')
  }
  switch (mergeRequest.state) {
    case 'merged':
      finishMerged(draft, mergeRequest)
      return SUCCEEDED
    case 'closed':
      observe(draft, mergeRequest)
      draft.finish('cancelled', 'closed')
      return SUCCEEDED
    case 'locked':
      observe(draft, mergeRequest)
      return lookAgain(action, 'a merge is under way')
    case 'opened':
      observe(draft, mergeRequest)
      return reconcileOpen(action, mergeRequest)
  }
}

async function reconcileOpen(action: Action, mergeRequest: GitLabMergeRequest): Promise<ExecutorResult> {
  const { detail } = action.draft
  const { sha } = mergeRequest
  // The change was inspected for another branch, and perhaps this one is not open to the service's callers.
  if (detail.resolvedTarget !== null && mergeRequest.targetBranch !== detail.resolvedTarget) {
    return handBack(action, 'somebody has changed its target branch')
  }
  if (sha === null || sha !== detail.writtenSha) return reconcileOtherHead(action, mergeRequest)
  detail.headSha = sha
  const status = mergeRequest.detailedMergeStatus
  if (UNSETTLED.includes(status)) return lookAgain(action, 'GitLab is checking whether it can be merged')
  if (mergeRequest.hasConflicts || CONFLICTING.includes(status)) {
    detail.rebuildWanted = true
    return handBack(action, 'it conflicts with the target branch')
  }
  if (!detail.autoMerge || status !== 'mergeable') return wait(action, mergeRequest)
  return mergeOnProof(action, mergeRequest, sha)
}

/** For a moment after a push GitLab shows the old head; otherwise the branch is gone, or somebody else has pushed. */
async function reconcileOtherHead(action: Action, mergeRequest: GitLabMergeRequest): Promise<ExecutorResult> {
  const { services, draft, context } = action
  const { detail } = draft
  const branch = await services.gitlab.getBranch(mergeRequest.projectId, mergeRequest.sourceBranch, context)
  if (branch === null) return handBack(action, 'the source branch is gone')
  const isNew = branch.sha !== detail.headSha
  detail.headSha = branch.sha
  if (branch.sha === detail.writtenSha) return lookAgain(action, 'GitLab has not noticed the last push yet')
  // A commit of ours whose call had timed out may land late, over its own repetition. ensure_mr can tell; asked once a head.
  if (isNew && readMark(branch.headMessage)?.itemId === draft.item.id) {
    return handBack(action, 'a commit with the mark of this item has arrived')
  }
  // Somebody else's commits are neither overwritten nor merged: the service proves only what it wrote and inspected.
  return wait(action, mergeRequest)
}

async function mergeOnProof(action: Action, mergeRequest: GitLabMergeRequest, sha: string): Promise<ExecutorResult> {
  const { services, draft, context } = action
  const { detail } = draft
  const pipeline = mergeRequest.headPipeline?.sha === sha ? mergeRequest.headPipeline : null
  if (pipeline === null) {
    const required = services.inspector.policyOf(detail.project)?.require_pipeline ?? true
    if (required) return wait(action, mergeRequest, services.config.pipeline_poll)
    if (detail.unsettledLooks < LOOKS_FOR_A_PIPELINE) return lookAgain(action, 'a pipeline may still begin')
  } else if (pipeline.status !== 'success') {
    return wait(action, mergeRequest)
  }
  refuseUnlessAllowed(services, await services.readContent(draft.item.id))
  const answer = await services.gitlab.mergeMergeRequest(
    mergeRequest.projectId,
    mergeRequest.iid,
    { sha, squash: detail.squash, removeSourceBranch: detail.removeSourceBranch },
    context,
  )
  if (answer.merged) {
    finishMerged(draft, answer.mergeRequest)
    return SUCCEEDED
  }
  // No failure: an approval was withdrawn, the target moved, a pipeline began. The next look sees which.
  detail.mergeRefusal = `${answer.status} ${answer.message}`
  context.log.info(
    { work_item_id: draft.item.id, mr_iid: mergeRequest.iid, status: answer.status, answer: answer.message },
    'GitLab did not merge; it is looked at again',
  )
  return lookAgain(action, 'GitLab did not merge', services.config.reconcile_interval)
}

/** ensure_mr has to make it right. */
function handBack({ draft }: Action, note: string): ExecutorResult {
  draft.need(NEEDS_MR, { note })
  draft.settle(NEEDS_RECONCILE)
  return SUCCEEDED
}

/** It settles by itself within seconds: soon, then less and less often. */
function lookAgain({ services, draft }: Action, note: string, maxMs = services.config.pipeline_poll): ExecutorResult {
  const { detail } = draft
  draft.need(NEEDS_RECONCILE, { deferMs: growingMs(detail.unsettledLooks, maxMs), note })
  detail.unsettledLooks += 1
  return SUCCEEDED
}

/** An event will tell; the interval is the net under it, closer while a pipeline is expected to begin or end. */
function wait(
  { services, draft }: Action,
  { detailedMergeStatus, headPipeline }: GitLabMergeRequest,
  deferMs = isPipelineRunning(detailedMergeStatus, headPipeline?.status)
    ? services.config.pipeline_poll
    : services.config.reconcile_interval,
): ExecutorResult {
  draft.detail.unsettledLooks = 0
  draft.detail.mergeRefusal = null
  draft.need(NEEDS_RECONCILE, { deferMs })
  return SUCCEEDED
}

function isPipelineRunning(mergeStatus: string, pipelineStatus: string | undefined): boolean {
  return mergeStatus === 'ci_still_running' || (pipelineStatus !== undefined && RUNNING.includes(pipelineStatus))
}
