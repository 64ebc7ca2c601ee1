/**
 * Whether a merge request may be merged, and if not, what it waits for. Pure: it judges what one look has shown, and where
 * that is not enough it names the question to ask next, so that nothing is asked that would not matter. What it answers is
 * what the service does and what people are told. Merging takes proof, whatever the project's own settings ask for: a
 * finished green pipeline of exactly the commit that the service wrote, or of its merge with the target. Decisions 0046, 0066.
 */
import type { GitLabBridge, GitLabMergeRequest, GitLabPipeline } from '../../gitlab/port.ts'
import type { MrProjectConfig } from './config.ts'
import type { CiFinding, Wait } from './detail.ts'
import { activeFreeze } from './freeze.ts'

/** What is known after one look at an open merge request whose head is the commit that the service wrote. */
export interface Look {
  readonly mergeRequest: Pick<
    GitLabMergeRequest,
    'detailedMergeStatus' | 'hasConflicts' | 'labels' | 'headPipeline' | 'draft'
  >
  /** The commit that the service wrote. */
  readonly head: string
  readonly autoMerge: boolean
  /** The caller's own title says that it is a draft. */
  readonly isDraftByCaller: boolean
  /** Whether somebody has to agree, and to which commit somebody did. */
  readonly needsReview: boolean
  readonly reviewedSha: string | null
  /** Looks in a row that found nothing settled. */
  readonly unsettledLooks: number
  /** What the herder has found about a pipeline that failed. */
  readonly ciFinding: CiFinding | null
  readonly policy: Pick<MrProjectConfig, 'pipeline' | 'hold_labels' | 'freeze' | 'review'>
  readonly now: Date
  readonly answers: Answers
}

type ChildPipeline = Pick<GitLabBridge, 'name' | 'status' | 'allowFailure' | 'downstream'>

/** What was asked beyond the merge request itself; absent: not asked. */
export interface Answers {
  /** Parents of the commit of a merged-results pipeline. */
  readonly merged_result?: readonly string[]
  /** What the head pipeline has started elsewhere, at any depth. */
  readonly children?: readonly ChildPipeline[]
  /** Whoever of those who may agree has agreed to this commit; null: nobody. */
  readonly review?: string | null
}

export type Question = keyof Answers

export type Reason = Omit<Wait, 'since'>

export type Verdict =
  | { readonly do: 'merge' }
  | { readonly do: 'ask'; readonly question: Question }
  /** The commit has to be made anew, on the target's newest head. */
  | { readonly do: 'rebuild'; readonly reason: Reason }
  /** Agreed to: the draft mark has to go. Or no longer: it has to come back. */
  | { readonly do: 'review'; readonly reviewed: boolean; readonly reason: Reason }
  /** Nothing to do before somebody else has done something. */
  | {
      readonly do: 'wait'
      readonly look: 'soon' | 'pipeline' | 'interval'
      readonly reason: Reason
      /** The pipeline of this head has failed, whatever else it waits for: its jobs may have to be run again. */
      readonly ciFailed: boolean
    }

/** GitLab is still finding out; the answer comes by itself. */
const UNSETTLED = ['checking', 'unchecked', 'preparing', 'approvals_syncing']
/** Of these, what a merge call finds out by itself (decision 0071). */
const CHECKED_BY_MERGING = ['checking', 'unchecked']
/** Looks in a row that found GitLab checking before the merge is tried. */
const LOOKS_FOR_A_CHECK = 2
/** Only another commit on a newer target head helps. */
const CONFLICTING = ['conflict', 'need_rebase', 'broken_status']
/** Pipelines that end by themselves; the rest waits for a person. */
const RUNNING = ['created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'scheduled', 'canceling']
const EXTERNAL = ['external', 'external_pull_request_event']
/** Looks without any pipeline before there is taken to be none: GitLab makes pipelines a moment after a push. */
const LOOKS_FOR_A_PIPELINE = 4

export function judge(look: Look): Verdict {
  const verdict = judgeLook(look)
  if (verdict.do !== 'wait' || !hasFailed(look)) return verdict
  const { ciFinding, mergeRequest } = look
  // The herder knows which jobs failed, and what becomes of them.
  const isExplained =
    verdict.reason.code === 'pipeline_not_green' && ciFinding?.pipelineId === mergeRequest.headPipeline?.id
  return { ...verdict, ciFailed: true, ...(isExplained && ciFinding !== null ? { reason: ciFinding.reason } : {}) }
}

/** Is this a failure that the herder may know? Of a merged result it finds out itself which head was tested. */
function hasFailed({ mergeRequest: { headPipeline: pipeline }, head, policy, answers }: Look): boolean {
  if (pipeline === null || !isPipelineOf(pipeline, head, policy)) return false
  if (pipeline.status === 'failed') return true
  return (answers.children ?? []).some(
    ({ allowFailure, downstream }) => !allowFailure && downstream?.status === 'failed',
  )
}

/** A pipeline of this commit, or perhaps of its merge with the target. */
export function isPipelineOf(
  pipeline: GitLabPipeline,
  head: string,
  policy: Pick<MrProjectConfig, 'pipeline'>,
): boolean {
  return pipeline.sha === head || (policy.pipeline.merged_results === 'accept' && isMergedResult(pipeline))
}

function judgeLook(look: Look): Verdict {
  const { mergeRequest, autoMerge, policy, now } = look
  const status = mergeRequest.detailedMergeStatus
  if (UNSETTLED.includes(status)) return judgeUnsettled(look, status)
  if (mergeRequest.hasConflicts || CONFLICTING.includes(status)) {
    return { do: 'rebuild', reason: reasonOfStatus(CONFLICTING.includes(status) ? status : 'conflict') }
  }
  const review = judgeReview(look)
  if (review !== null) return review
  const held = autoMerge ? holdOf(look) : null
  if (held !== null) return wait('interval', held)
  if (status !== 'mergeable') return wait(isPipelineAwaited(look) ? 'pipeline' : 'interval', reasonOfStatus(status))
  if (!autoMerge) {
    return wait('interval', reason('waiting_for_merge', 'it can be merged; auto_merge is off', 'a maintainer'))
  }
  const unproven = judgeProof(look)
  if (unproven !== null) return unproven
  const freeze = activeFreeze(policy.freeze, now)
  if (freeze !== null) return wait('interval', reasonOfFreeze(freeze))
  return { do: 'merge' }
}

/** Somebody else's merge may set GitLab's check back before each look, for as long as there are others. */
function judgeUnsettled(look: Look, status: string): Verdict {
  const { mergeRequest, unsettledLooks } = look
  const patience = wait('soon', reasonOfStatus(status))
  const isTried = CHECKED_BY_MERGING.includes(status) && unsettledLooks >= LOOKS_FOR_A_CHECK && !mergeRequest.draft
  if (!isTried) return patience
  const supposed = judgeLook({ ...look, mergeRequest: { ...mergeRequest, detailedMergeStatus: 'mergeable' } })
  return supposed.do === 'merge' || supposed.do === 'ask' ? supposed : patience
}

/** Agreement is asked for twice: to lift the draft, and again at the last moment before the merge. */
function judgeReview({ mergeRequest, head, needsReview, reviewedSha, isDraftByCaller, policy, answers }: Look) {
  if (!needsReview) return null
  const agreed = reviewedSha === head
  const { group, users } = policy.review ?? {}
  const who = [...(users ?? []), ...(group === undefined ? [] : [`a member of ${group}`])].join(' or ')
  const missing = reason(
    'waiting_for_review',
    'it changes paths that take the approval of a named person',
    who || 'an operator: the configuration names nobody who may approve',
  )
  if (answers.review === undefined) return { do: 'ask', question: 'review' } as const
  if (answers.review === null) {
    // Withdrawn, or somebody has taken the draft mark off: without it anybody could merge.
    const isOpen = agreed || !mergeRequest.draft
    return isOpen ? ({ do: 'review', reviewed: false, reason: missing } as const) : wait('interval', missing)
  }
  if (agreed && (!mergeRequest.draft || isDraftByCaller)) return null
  const given = reason('reviewed', `${answers.review} has approved it; the draft mark is taken off`, 'the service')
  return { do: 'review', reviewed: true, reason: given } as const
}

function holdOf({ mergeRequest, policy }: Look): Reason | null {
  const held = policy.hold_labels.map((label) => label.toLowerCase())
  const label = mergeRequest.labels.find((name) => held.includes(name.toLowerCase()))
  if (label === undefined) return null
  return reason('on_hold', `the label ${label} holds it back`, 'whoever set the label, by taking it off')
}

/** null: it is proven. */
function judgeProof(look: Look): Verdict | null {
  const { mergeRequest, head, policy, answers } = look
  const pipeline = mergeRequest.headPipeline
  if (pipeline === null) return judgeNoPipeline(look)
  if (pipeline.sha !== head) {
    if (policy.pipeline.merged_results === 'ignore' || !isMergedResult(pipeline)) return judgeNoPipeline(look)
    if (answers.merged_result === undefined) return { do: 'ask', question: 'merged_result' }
    if (!answers.merged_result.includes(head)) return judgeNoPipeline(look)
  }
  if (EXTERNAL.includes(pipeline.source) && policy.pipeline.external === 'ignore') {
    const message = 'the pipeline holds only what other systems report, which this project does not count as proof'
    return wait('interval', reason('pipeline_external', message, 'a maintainer'))
  }
  return judgeStatus(look, pipeline)
}

function judgeNoPipeline({ policy, unsettledLooks }: Look): Verdict | null {
  const missing = reason('waiting_for_pipeline', 'no pipeline of this commit has begun', 'CI')
  if (policy.pipeline.none === 'wait') return wait('pipeline', missing)
  return unsettledLooks < LOOKS_FOR_A_PIPELINE ? wait('soon', missing) : null
}

function judgeStatus({ policy, answers }: Look, { status }: GitLabPipeline): Verdict | null {
  if (status === 'success') {
    if (policy.pipeline.children === 'ignore') return null
    if (answers.children === undefined) return { do: 'ask', question: 'children' }
    return judgeChildren(answers.children)
  }
  if (status === 'skipped' && policy.pipeline.skipped === 'merge') return null
  if (status === 'manual' && policy.pipeline.manual === 'merge') return null
  return wait(RUNNING.includes(status) ? 'pipeline' : 'interval', reasonOfPipeline(status))
}

/** One that was never started, because it was skipped or waits for a person, was not needed for the parent's success. */
function judgeChildren(bridges: readonly ChildPipeline[]): Verdict | null {
  for (const { name, status, allowFailure, downstream } of bridges) {
    if (allowFailure || (downstream === null && ['skipped', 'manual'].includes(status))) continue
    // Green, but nothing came of it yet.
    const outcome = downstream?.status ?? (status === 'success' ? 'created' : status)
    if (outcome === 'success') continue
    const isRunning = RUNNING.includes(outcome)
    const message = `the pipeline that ${name} starts ${isRunning ? 'is' : 'has ended:'} ${outcome}`
    return wait(
      isRunning ? 'pipeline' : 'interval',
      reason(
        isRunning ? 'waiting_for_pipeline' : 'pipeline_not_green',
        message,
        isRunning ? 'CI' : 'CI, or a changed submission',
      ),
    )
  }
  return null
}

function isMergedResult({ ref }: GitLabPipeline): boolean {
  return /^refs\/merge-requests\/\d+\/(merge|train)$/.test(ref)
}

function isPipelineAwaited({ mergeRequest, head }: Look): boolean {
  const { detailedMergeStatus, headPipeline } = mergeRequest
  if (detailedMergeStatus === 'ci_still_running') return true
  return headPipeline !== null && headPipeline.sha === head && RUNNING.includes(headPipeline.status)
}

function reasonOfPipeline(status: string): Reason {
  switch (status) {
    case 'failed':
    case 'canceled':
      return reason('pipeline_not_green', `the pipeline has ${status}`, 'CI, or a changed submission')
    case 'skipped':
      return reason('pipeline_not_green', 'the pipeline was skipped, which proves nothing', 'a maintainer')
    case 'manual':
      return reason('pipeline_manual', 'the pipeline waits for a person to start a job', 'a maintainer')
    default:
      return reason('waiting_for_pipeline', `the pipeline is ${status}`, 'CI')
  }
}

function reasonOfFreeze({ to, time_zone, reason: why }: MrProjectConfig['freeze'][number]): Reason {
  const until = /^\d/.test(to) ? to : `${to} ${time_zone}`
  return reason('frozen', `nothing is merged until ${until}${why === undefined ? '' : `: ${why}`}`, 'time')
}

/** By GitLab's detailed_merge_status. One that is not here is shown as it is: GitLab adds new ones. */
const MERGE_STATUS: Readonly<Record<string, Reason>> = {
  checking: reason('checking_mergeability', 'GitLab is checking whether it can be merged', 'GitLab'),
  unchecked: reason('checking_mergeability', 'GitLab is checking whether it can be merged', 'GitLab'),
  preparing: reason('checking_mergeability', 'GitLab is preparing the merge request', 'GitLab'),
  approvals_syncing: reason('checking_mergeability', 'GitLab is counting the approvals', 'GitLab'),
  conflict: reason('conflict', 'it conflicts with the target branch and is rebuilt on it', 'the service'),
  broken_status: reason('conflict', 'GitLab cannot merge it; it is rebuilt on the target branch', 'the service'),
  need_rebase: reason('behind_target', 'it is behind the target branch and is rebuilt on it', 'the service'),
  not_approved: reason('waiting_for_approval', 'an approval is missing', 'a reviewer'),
  requested_changes: reason('changes_requested', 'a reviewer has asked for changes', 'the author or the reviewer'),
  discussions_not_resolved: reason('open_discussions', 'discussions are not resolved', 'a reviewer'),
  draft_status: reason('draft', 'it is marked as a draft', 'the author'),
  ci_must_pass: reason('pipeline_not_green', 'the pipeline has to pass', 'CI'),
  ci_still_running: reason('waiting_for_pipeline', 'the pipeline is running', 'CI'),
  status_checks_must_pass: reason('status_checks', 'external status checks have to pass', 'CI'),
  external_status_checks: reason('status_checks', 'external status checks have to pass', 'CI'),
  // An open item meets this only while GitLab merges or closes it; the next look sees which.
  not_open: reason('merging', 'GitLab is merging or closing it', 'GitLab'),
  merge_request_blocked: reason('blocked_by_other', 'another merge request blocks it', 'a maintainer'),
  blocked_status: reason('blocked_by_other', 'another merge request blocks it', 'a maintainer'),
  merge_time: reason('merge_time', 'it may be merged at a later time only', 'time'),
  locked_paths: reason('locked_paths', 'a file is locked in GitLab', 'a maintainer'),
  locked_lfs_files: reason('locked_paths', 'a file is locked in GitLab', 'a maintainer'),
  title_regex: reason('title_refused', 'the title does not match the rule of the project', 'the author'),
  security_policy_violations: reason('policy_violation', 'a security policy is violated', 'a maintainer'),
  security_policy_pipeline_check: reason('policy_violation', 'a security policy waits for its pipeline', 'CI'),
  policies_denied: reason('policy_violation', 'a security policy is violated', 'a maintainer'),
  jira_association_missing: reason('issue_missing', 'it names no issue', 'the author'),
  commits_status: reason('branch_missing', 'its source branch is missing or empty', 'the service'),
}

/** Every code that the gate gives, for documentation. */
export const MERGE_STATUSES: readonly string[] = Object.keys(MERGE_STATUS)

function reasonOfStatus(status: string): Reason {
  const known = Object.hasOwn(MERGE_STATUS, status) ? MERGE_STATUS[status] : undefined
  return known ?? reason('merge_status', `GitLab says ${status}`, 'see the merge request')
}

function wait(look: 'soon' | 'pipeline' | 'interval', why: Reason) {
  return { do: 'wait', look, reason: why, ciFailed: false } as const
}

function reason(code: string, message: string, clearedBy: string): Reason {
  return { code, message, clearedBy }
}
