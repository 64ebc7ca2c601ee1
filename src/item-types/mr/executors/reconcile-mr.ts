/**
 * One look at the merge request, and what follows from it: ended, to be rebuilt, to be merged, or to be looked at again.
 * It reads the single merge request, never a list, because lists are cached views. The gate (merge-gate.ts) says what to do
 * with an open one; here it is done, and what it waits for is recorded. Every path that leaves the item active leaves a
 * wake-up behind. Decision 0046.
 */
import type { GitLabMergeRequest } from '../../../gitlab/port.ts'
import { isActionable } from '../../../queue/dimension.ts'
import type { ExecutorResult } from '../../../queue/item-type.ts'
import type { MrProjectConfig } from '../config.ts'
import { NEEDS_CI_RETRY, NEEDS_MR, NEEDS_RECONCILE } from '../dimensions.ts'
import { recordGreen } from '../herder/store.ts'
import { isDraftTitle } from '../inspection/text-rules.ts'
import { type Answers, judge, type Look, type Question, type Reason, type Verdict } from '../merge-gate.ts'
import { askOf } from './answers.ts'
import { type Action, createExecutor, growingMs, type MrServices, refuseUnlessAllowed, SUCCEEDED } from './context.ts'
import { closeAndCleanUp, finishMerged, observe } from './ending.ts'
import { postClosingNote } from './notes.ts'
import { withRights } from './project.ts'
import { readMark } from './trailers.ts'
import { recordWait } from './waiting.ts'

export function createReconcileMr(services: MrServices) {
  return createExecutor(services, (action) => withRights(action, () => reconcileMr(action)))
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
  await recordIfGreen(action, mergeRequest)
  switch (mergeRequest.state) {
    case 'merged':
      // Somebody took the branch over, and the submission has changed since: its newest content is not in what was merged.
      if (draft.detail.writtenSha === null) return handBack(action, 'what was submitted last is not in what was merged')
      finishMerged(action, mergeRequest)
      return SUCCEEDED
    case 'closed':
      observe(draft, mergeRequest)
      draft.finish('cancelled', 'closed')
      return SUCCEEDED
    case 'locked':
      observe(draft, mergeRequest)
      return lookSoon(action, { code: 'merging', message: 'a merge is under way', clearedBy: 'GitLab' })
    case 'opened':
      observe(draft, mergeRequest)
      return isExpired(action) ? expire(action, mergeRequest) : reconcileOpen(action, mergeRequest)
  }
}

/**
 * What the herder has run again is known to have succeeded once the pipeline is green. That it was asked at all is known from
 * its dimension, also where the record of its last run was lost.
 */
async function recordIfGreen(
  { services, draft }: Action,
  { projectId, headPipeline }: GitLabMergeRequest,
): Promise<void> {
  const wasAsked = draft.dimensions.some(({ dimension }) => dimension === NEEDS_CI_RETRY)
  if (!wasAsked || headPipeline?.status !== 'success') return
  await recordGreen(services.db, projectId, headPipeline.id)
  draft.detail.ciFinding = null
}

async function reconcileOpen(action: Action, mergeRequest: GitLabMergeRequest): Promise<ExecutorResult> {
  const { services, draft } = action
  const { detail } = draft
  const { sha } = mergeRequest
  // The change was inspected for another branch, and perhaps this one is not open to the service's callers.
  if (detail.resolvedTarget !== null && mergeRequest.targetBranch !== detail.resolvedTarget) {
    return handBack(action, 'somebody has changed its target branch')
  }
  if (sha === null || sha !== detail.writtenSha) return reconcileOtherHead(action, mergeRequest)
  detail.headSha = sha
  const policy = services.inspector.policyOf(detail.project)
  if (policy === null) {
    const message = 'the service is not set up for this project any more'
    return waitFor(action, { code: 'project_not_configured', message, clearedBy: 'an operator' })
  }
  return follow(action, mergeRequest, sha, await askTheGate(action, mergeRequest, sha, policy))
}

/** Judges, asking GitLab for more as long as the gate wants to know more: at most once each. */
async function askTheGate(
  action: Action,
  mergeRequest: GitLabMergeRequest,
  head: string,
  policy: MrProjectConfig,
): Promise<Exclude<Verdict, { do: 'ask' }>> {
  const { draft, context } = action
  const { detail } = draft
  let answers: Answers = {}
  for (;;) {
    const look: Look = {
      mergeRequest,
      head,
      autoMerge: detail.autoMerge,
      isDraftByCaller: isDraftTitle(detail.title),
      needsReview: detail.needsReview,
      reviewedSha: detail.reviewedSha,
      unsettledLooks: detail.unsettledLooks,
      ciFinding: detail.ciFinding,
      policy,
      now: context.now,
      answers,
    }
    const verdict = judge(look)
    if (verdict.do !== 'ask') return verdict
    answers = { ...answers, ...(await answerTo(action, verdict.question, mergeRequest, policy)) }
  }
}

function answerTo(action: Action, question: Question, mergeRequest: GitLabMergeRequest, policy: MrProjectConfig) {
  return askOf[question](action, mergeRequest, policy)
}

async function follow(
  action: Action,
  mergeRequest: GitLabMergeRequest,
  head: string,
  verdict: Exclude<Verdict, { do: 'ask' }>,
): Promise<ExecutorResult> {
  const { services, draft } = action
  const { detail } = draft
  switch (verdict.do) {
    case 'merge':
      return merge(action, mergeRequest, head)
    case 'rebuild':
      detail.rebuildWanted = true
      recordWait(action, verdict.reason)
      return handBack(action, verdict.reason.message)
    case 'review':
      detail.reviewedSha = verdict.reviewed ? head : null
      recordWait(action, verdict.reason)
      return handBack(action, verdict.reason.message)
    case 'wait':
      planRetry(action, mergeRequest, verdict.ciFailed)
      if (verdict.look === 'soon') return lookSoon(action, verdict.reason)
      return waitFor(
        action,
        verdict.reason,
        verdict.look === 'pipeline' ? services.config.pipeline_poll : services.config.reconcile_interval,
      )
  }
}

/** The herder looks at once, unless it knows this pipeline and has put its next look off. */
function planRetry({ draft, context }: Action, { headPipeline }: GitLabMergeRequest, ciFailed: boolean): void {
  const planned = draft.dimensions.find((one) => one.dimension === NEEDS_CI_RETRY && one.status === 'true')
  if (!ciFailed) {
    if (planned !== undefined) draft.settle(NEEDS_CI_RETRY)
    return
  }
  const isPutOff = planned !== undefined && !isActionable(planned, context.now)
  if (isPutOff && draft.detail.ciFinding?.pipelineId === headPipeline?.id) return
  draft.need(NEEDS_CI_RETRY)
}

/** For a moment after a push GitLab shows the old head; otherwise the branch is gone, or somebody else has pushed. */
async function reconcileOtherHead(action: Action, mergeRequest: GitLabMergeRequest): Promise<ExecutorResult> {
  const { services, draft, context } = action
  const { detail } = draft
  const branch = await services.gitlab.getBranch(mergeRequest.projectId, mergeRequest.sourceBranch, context)
  if (branch === null) return handBack(action, 'the source branch is gone')
  const isNew = branch.sha !== detail.headSha
  detail.headSha = branch.sha
  if (branch.sha === detail.writtenSha) {
    const message = 'GitLab has not noticed the last push yet'
    return lookSoon(action, { code: 'checking_mergeability', message, clearedBy: 'GitLab' })
  }
  // A commit of ours whose call had timed out may land late, over its own repetition. ensure_mr can tell; asked once a head.
  if (isNew && readMark(branch.headMessage)?.itemId === draft.item.id) {
    return handBack(action, 'a commit with the mark of this item has arrived')
  }
  // Somebody else's commits are neither overwritten nor merged: the service proves only what it wrote and inspected.
  return waitFor(action, {
    code: 'foreign_commits',
    message: `somebody else has pushed to the branch; the service neither overwrites nor merges their commits${detail.writtenSha === null ? '; what was submitted last is not on the branch' : ''}`,
    clearedBy: 'whoever pushed, by merging it or removing their commits',
  })
}

async function merge(action: Action, mergeRequest: GitLabMergeRequest, sha: string): Promise<ExecutorResult> {
  const { services, draft, context } = action
  const { detail } = draft
  await refuseUnlessAllowed(services, await services.readContent(draft.item.id))
  const answer = await services.gitlab.mergeMergeRequest(
    mergeRequest.projectId,
    mergeRequest.iid,
    // The merge request's own wish, which is ours as far as the project lets anybody choose.
    { sha, squash: mergeRequest.squash, removeSourceBranch: detail.removeSourceBranch },
    context,
  )
  if (answer.merged) {
    finishMerged(action, answer.mergeRequest)
    return SUCCEEDED
  }
  // No failure: an approval was withdrawn, the target moved, a pipeline began. The next look sees which.
  detail.mergeRefusal = `${answer.status} ${answer.message}`
  context.log.info(
    { work_item_id: draft.item.id, mr_iid: mergeRequest.iid, status: answer.status, answer: answer.message },
    'GitLab did not merge; it is looked at again',
  )
  const message = `GitLab did not merge (${detail.mergeRefusal}); it is tried again`
  const reason = { code: 'merge_refused', message, clearedBy: 'GitLab or a maintainer' }
  return lookSoon(action, reason, services.config.reconcile_interval)
}

function isExpired({ draft: { detail }, context }: Action): boolean {
  return detail.expiresAt !== null && detail.expiresAt <= context.now
}

async function expire(action: Action, mergeRequest: GitLabMergeRequest): Promise<ExecutorResult> {
  const { draft } = action
  await postClosingNote(action, mergeRequest, 'It was not merged in the time that was set for it, and is closed.')
  const merged = await closeAndCleanUp(action, mergeRequest.projectId)
  if (merged === null) draft.finish('cancelled', 'expired')
  else finishMerged(action, merged)
  return SUCCEEDED
}

/** ensure_mr has to make it right. */
function handBack({ draft }: Action, note: string): ExecutorResult {
  draft.need(NEEDS_MR, { note })
  draft.settle(NEEDS_RECONCILE)
  return SUCCEEDED
}

/** It settles by itself within seconds: soon, then less and less often. */
function lookSoon(action: Action, reason: Reason, maxMs = action.services.config.pipeline_poll): ExecutorResult {
  const { draft } = action
  // GitLab checks anew whenever the target moves: that is no news to whoever waits for something else.
  if (reason.code !== 'checking_mergeability' || draft.detail.waitsFor === null) recordWait(action, reason)
  draft.need(NEEDS_RECONCILE, { deferMs: growingMs(draft.detail.unsettledLooks, maxMs), note: reason.message })
  draft.detail.unsettledLooks += 1
  return SUCCEEDED
}

/** An event will tell; the interval is the net under it, and no longer than the time that is left. */
function waitFor(
  action: Action,
  reason: Reason,
  intervalMs = action.services.config.reconcile_interval,
): ExecutorResult {
  const { draft, context } = action
  const { detail } = draft
  recordWait(action, reason)
  detail.unsettledLooks = 0
  detail.mergeRefusal = null
  const leftMs = detail.expiresAt === null ? intervalMs : detail.expiresAt.getTime() - context.now.getTime()
  draft.need(NEEDS_RECONCILE, { deferMs: Math.max(0, Math.min(intervalMs, leftMs)) })
  return SUCCEEDED
}
