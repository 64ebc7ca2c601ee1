/**
 * What an item waits for, since when, and who can clear it, in words: the same for the API, the CLI and the pages. Pure,
 * from what was recorded at the last look. An active item without a blocker is simply at work.
 */
import { type Dimension, isActionable } from '../../queue/dimension.ts'
import type { Blocker, Snapshot } from '../../queue/item-type.ts'
import type { MrDetail } from './detail.ts'
import { NEEDS_MR, NEEDS_RECONCILE } from './dimensions.ts'

interface Wait {
  readonly code: string
  readonly message: string
  readonly clearedBy: string
}

/** By GitLab's detailed_merge_status. One that is not here is shown as it is: GitLab adds new ones. */
const MERGE_STATUS: Readonly<Record<string, Wait>> = {
  checking: wait('checking_mergeability', 'GitLab is checking whether it can be merged', 'GitLab'),
  unchecked: wait('checking_mergeability', 'GitLab is checking whether it can be merged', 'GitLab'),
  preparing: wait('checking_mergeability', 'GitLab is preparing the merge request', 'GitLab'),
  approvals_syncing: wait('checking_mergeability', 'GitLab is counting the approvals', 'GitLab'),
  conflict: wait('conflict', 'it conflicts with the target branch and is rebuilt once that has moved', 'the service'),
  need_rebase: wait('behind_target', 'it is behind the target branch and is rebuilt on it', 'the service'),
  not_approved: wait('waiting_for_approval', 'an approval is missing', 'a reviewer'),
  requested_changes: wait('changes_requested', 'a reviewer has asked for changes', 'the author or the reviewer'),
  discussions_not_resolved: wait('open_discussions', 'discussions are not resolved', 'a reviewer'),
  draft_status: wait('draft', 'it is marked as a draft', 'the author'),
  ci_must_pass: wait('pipeline_not_green', 'the pipeline has to pass', 'CI'),
  ci_still_running: wait('waiting_for_pipeline', 'the pipeline is running', 'CI'),
  status_checks_must_pass: wait('status_checks', 'external status checks have to pass', 'CI'),
  external_status_checks: wait('status_checks', 'external status checks have to pass', 'CI'),
  // An open item meets this only while GitLab merges or closes it; the next look sees which.
  not_open: wait('merging', 'GitLab is merging or closing it', 'GitLab'),
  merge_request_blocked: wait('blocked_by_other', 'another merge request blocks it', 'a maintainer'),
  blocked_status: wait('blocked_by_other', 'another merge request blocks it', 'a maintainer'),
  merge_time: wait('merge_time', 'it may be merged at a later time only', 'time'),
  locked_paths: wait('locked_paths', 'a file is locked in GitLab', 'a maintainer'),
  locked_lfs_files: wait('locked_paths', 'a file is locked in GitLab', 'a maintainer'),
  title_regex: wait('title_refused', 'the title does not match the rule of the project', 'the author'),
  security_policy_violations: wait('policy_violation', 'a security policy is violated', 'a maintainer'),
  policies_denied: wait('policy_violation', 'a security policy is violated', 'a maintainer'),
  jira_association_missing: wait('issue_missing', 'it names no issue', 'the author'),
  commits_status: wait('branch_missing', 'its source branch is missing or empty', 'the service'),
}

export function findBlockers({ item, detail, dimensions, now }: Snapshot<MrDetail>): readonly Blocker[] {
  if (item.phase === 'failed' && item.lastError !== null) {
    const { code, message, at } = item.lastError
    return [{ code, message, since: new Date(at), clearedBy: 'the caller, with a retry or a changed submission' }]
  }
  if (item.phase !== 'active') return []
  const since = dimensions.find(({ dimension }) => dimension === NEEDS_RECONCILE)?.updatedAt ?? null
  const waits = waitsOf(detail, dimensions, now).map((found) => ({ ...found, since }))
  if (item.lastError === null) return waits
  const { code, message, at } = item.lastError
  return [{ code, message: `${message}; it is tried again`, since: new Date(at), clearedBy: 'the service' }, ...waits]
}

function waitsOf(detail: MrDetail, dimensions: readonly Dimension[], now: Date): readonly Wait[] {
  const writes = dimensions.find(({ dimension }) => dimension === NEEDS_MR)
  if (detail.mrIid === null || writes === undefined || isActionable(writes, now)) {
    return [wait('writing', 'the service is about to write the branch and its merge request', 'the service')]
  }
  if (detail.headSha !== null && detail.headSha !== detail.writtenSha) {
    const message = 'somebody else has pushed to the branch; the service neither overwrites nor merges their commits'
    return [wait('foreign_commits', message, 'whoever pushed, by merging it or removing their commits')]
  }
  const status = detail.detailedMergeStatus
  if (status === null) return []
  if (status !== 'mergeable') {
    return [MERGE_STATUS[status] ?? wait('merge_status', `GitLab says ${status}`, 'see the merge request')]
  }
  if (!detail.autoMerge) return [wait('waiting_for_merge', 'it can be merged; auto_merge is off', 'a maintainer')]
  return [waitForProof(detail)]
}

/** GitLab would merge it; the service wants proof first. */
function waitForProof({ headPipelineStatus, mergeRefusal }: MrDetail): Wait {
  if (mergeRefusal !== null) {
    return wait('merge_refused', `GitLab did not merge (${mergeRefusal}); it is tried again`, 'GitLab or a maintainer')
  }
  switch (headPipelineStatus) {
    case null:
      return wait('waiting_for_pipeline', 'no pipeline of this commit has begun', 'CI')
    case 'success':
      return wait('merging', 'it is about to be merged', 'the service')
    case 'failed':
    case 'canceled':
      return wait('pipeline_not_green', `the pipeline has ${headPipelineStatus}`, 'CI, or a changed submission')
    case 'skipped':
      return wait('pipeline_not_green', 'the pipeline was skipped, which proves nothing', 'a maintainer')
    case 'manual':
      return wait('pipeline_manual', 'the pipeline waits for a person to start a job', 'a maintainer')
    default:
      return wait('waiting_for_pipeline', `the pipeline is ${headPipelineStatus}`, 'CI')
  }
}

function wait(code: string, message: string, clearedBy: string): Wait {
  return { code, message, clearedBy }
}
