/**
 * Makes the merge request exist as the caller wants it: inspects once more, writes the branch, then finds or creates the
 * merge request. Every step looks at what is there before it writes, so that it can be repeated after any crash. A merge
 * request that was merged is history: changed content gets a new one.
 */
import type { GitLabMergeRequest } from '../../../gitlab/port.ts'
import type { ExecutorResult } from '../../../queue/item-type.ts'
import type { MrDetail } from '../detail.ts'
import { NEEDS_DASHBOARD_LINK, NEEDS_EMPTY_CHECK, NEEDS_MR, NEEDS_RECONCILE } from '../dimensions.ts'
import { commitHashOf } from '../identity.ts'
import { touchedPaths } from '../inspection/file-rules.ts'
import type { MrSubmission } from '../schema.ts'
import {
  type Action,
  createExecutor,
  growingMs,
  type MrServices,
  refuse,
  refuseUnlessAllowed,
  SUCCEEDED,
} from './context.ts'
import { closeAndCleanUp, finishMerged, forgetMerge, observe } from './ending.ts'
import { ensureMergeRequest } from './merge-request.ts'
import { createFindPipelineFiles, type FindPipelineFiles } from './pipeline-files.ts'
import { findTarget, type Target, withRights } from './project.ts'
import { type BranchOutcome, writeSourceBranch } from './source-branch.ts'

export function createEnsureMr(services: MrServices) {
  const findPipelineFiles = createFindPipelineFiles(services)
  return createExecutor(services, (action) => withRights(action, () => ensureMr(action, findPipelineFiles)))
}

async function ensureMr(action: Action, findPipelineFiles: FindPipelineFiles): Promise<ExecutorResult> {
  const { services, draft, context } = action
  const { detail } = draft
  const content = await services.readContent(draft.item.id)
  const target = await inspectAgain(action, content, findPipelineFiles)
  detail.projectId = target.project.id
  detail.resolvedTarget = target.branch.name

  const own =
    detail.mrIid === null ? null : await services.gitlab.getMergeRequest(target.project.id, detail.mrIid, context)
  if (own?.state === 'locked') {
    // A merge is under way. What came of it decides whether this content needs a merge request of its own.
    draft.need(NEEDS_MR, { deferMs: growingMs(0, services.config.pipeline_poll), note: 'a merge is under way' })
    return SUCCEEDED
  }
  if (own?.state === 'merged' && detail.writtenHash === commitHashOf(content, target.branch.name)) {
    // Also where somebody asks for another try because a build had failed.
    finishMerged(action, own, { again: true })
    return SUCCEEDED
  }
  if (own?.state === 'merged') forgetMerge(draft)

  detail.needsReview = services.inspector.needsReview(content)
  const [writtenBefore, contentBefore] = [detail.writtenSha, detail.writtenHash]
  const hasOpenMergeRequest = own?.state === 'opened'
  const { state, takenBack } = await writeSourceBranch(action, { content, target, hasOpenMergeRequest })
  if (state === 'nothing_to_change') return finishWithoutChange(action, target, own)

  const mergeRequest = await ensureMergeRequest(action, content, target, own?.state === 'merged' ? null : own)
  observe(draft, mergeRequest)
  const stillConflicts = detail.rebuildWanted && detail.writtenSha === writtenBefore
  detail.rebuildWanted = false
  draft.settle(NEEDS_MR, noteOf(detail, state, takenBack))
  setExpiry(action, detail.writtenHash !== contentBefore)
  draft.need(NEEDS_EMPTY_CHECK, { deferMs: services.config.empty_check_interval })
  if (services.inspector.policyOf(content.project)?.note) draft.need(NEEDS_DASHBOARD_LINK)
  // The target has not moved since the last rebuild: looking at once would only find the same conflict again.
  draft.need(NEEDS_RECONCILE, stillConflicts ? { deferMs: services.config.reconcile_interval } : {})
  return SUCCEEDED
}

const MAX_PATHS_IN_NOTE = 5

/** What a person should know of this write, if anything. */
function noteOf(detail: MrDetail, state: BranchOutcome['state'], takenBack: readonly string[]): { note?: string } {
  if (state === 'taken_over') {
    const unwritten = detail.writtenSha === null ? ', so what was submitted last is not written' : ''
    return { note: `somebody else pushed to the branch; their commits stay${unwritten}` }
  }
  if (takenBack.length === 0) return {}
  const more = takenBack.length > MAX_PATHS_IN_NOTE ? ` and ${takenBack.length - MAX_PATHS_IN_NOTE} more` : ''
  const paths = takenBack.slice(0, MAX_PATHS_IN_NOTE).join(', ')
  return { note: `the rebuild takes back what others have changed in the target meanwhile: ${paths}${more}` }
}

/** Counted from the first write, and again from each new life and each change of the files. */
function setExpiry({ services, draft, context }: Action, isNewContent: boolean): void {
  const { detail } = draft
  const limitMs = services.inspector.policyOf(detail.project)?.expires_after ?? Number.POSITIVE_INFINITY
  const lifeMs = Math.min(detail.expiresAfterMs ?? Number.POSITIVE_INFINITY, limitMs)
  if (lifeMs === Number.POSITIVE_INFINITY) detail.expiresAt = null
  else if (isNewContent || detail.expiresAt === null || detail.expiresAt <= context.now) {
    detail.expiresAt = new Date(context.now.getTime() + lifeMs)
  }
}

/** The configuration and the project may have changed since the submission was accepted. */
async function inspectAgain(
  action: Action,
  content: MrSubmission,
  findPipelineFiles: FindPipelineFiles,
): Promise<Target> {
  const { inspector } = action.services
  await refuseUnlessAllowed(action.services, content)
  const policy = inspector.policyOf(content.project)
  if (policy === null) refuse('project_not_configured', 'The service is not set up for this project.')
  const target = await findTarget(action, policy, content)
  const paths = content.file_actions.flatMap(touchedPaths).map(({ path }) => path)
  const [first] = await findPipelineFiles(target, paths, action.context)
  if (first !== undefined) {
    refuse('path_blocked', `The path ${first} defines the project's pipelines; it must be changed by a person.`)
  }
  return target
}

/** The target holds everything already, by our own merge or somebody else's work: no merge request is needed. */
async function finishWithoutChange(
  action: Action,
  target: Target,
  own: GitLabMergeRequest | null,
): Promise<ExecutorResult> {
  const merged = own?.state === 'merged' ? own : await closeAndCleanUp(action, target.project.id)
  if (merged === null) action.draft.finish('completed', 'empty')
  else finishMerged(action, merged)
  return SUCCEEDED
}
