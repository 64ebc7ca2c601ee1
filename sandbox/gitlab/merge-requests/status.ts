/**
 * What a merge request answers when asked whether it can be merged. `merge_status` is the stored result of the last git
 * check; `detailed_merge_status` is worked out at each read, first match wins, in GitLab's order. Nothing is changed here.
 */
import type { SandboxContext } from '../context.ts'
import { branchHead, isAncestor, mergeBase } from '../git/repository.ts'
import type { MergeRequest, Pipeline, Project } from '../state.ts'

const DRAFT = /^\s*(?:draft:|\[draft\]|\(draft\))/i

export function isDraft(mergeRequest: Pick<MergeRequest, 'title'>): boolean {
  return DRAFT.test(mergeRequest.title)
}

/** `merge_status` as REST shows it: inner states of a check under way all read `checking`. */
export function publicMergeStatus(mergeRequest: MergeRequest): string {
  return mergeRequest.preparedAt === null ? 'checking' : mergeRequest.mergeStatus
}

/** Whether the last git check still stands. */
export function isSettled(mergeRequest: MergeRequest): boolean {
  return mergeRequest.mergeStatus === 'can_be_merged' || mergeRequest.mergeStatus === 'cannot_be_merged'
}

/** The head that a pipeline vouches for: of a merged-results pipeline not the temporary commit it runs on. */
export function testedHead(pipeline: Pipeline): string {
  return pipeline.sourceSha ?? pipeline.sha
}

/** Whether every thread that can be resolved is. */
export function discussionsResolved(context: SandboxContext, { projectId, iid }: MergeRequest): boolean {
  return !context.state.notes.some(
    (note) =>
      note.projectId === projectId &&
      note.noteableIid === iid &&
      note.noteableType === 'MergeRequest' &&
      note.discussionId !== undefined &&
      !note.resolved,
  )
}

/** The newest pipeline of the merge request; it can belong to an older commit. */
export function headPipeline(context: SandboxContext, mergeRequest: MergeRequest): Pipeline | null {
  const { pipelines } = context.state
  const byId = pipelines.find((pipeline) => pipeline.id === mergeRequest.headPipelineId)
  if (byId) return byId
  const newest = pipelines.findLast(
    (pipeline) =>
      pipeline.projectId === mergeRequest.projectId &&
      pipeline.source !== 'parent_pipeline' &&
      (pipeline.mergeRequestIid === mergeRequest.iid ||
        (pipeline.mergeRequestIid === null &&
          pipeline.ref === mergeRequest.sourceBranch &&
          pipeline.sha === mergeRequest.sha)),
  )
  return newest ?? null
}

function pipelineBlocker(context: SandboxContext, project: Project, mergeRequest: MergeRequest): string | null {
  if (!project.onlyAllowMergeIfPipelineSucceeds && mergeRequest.autoMerge === null) return null
  const pipeline = headPipeline(context, mergeRequest)
  const fitting = pipeline && testedHead(pipeline) === mergeRequest.sha ? pipeline : null
  if (fitting === null) return project.onlyAllowMergeIfPipelineSucceeds ? 'ci_must_pass' : null
  if (fitting.status === 'success') return null
  if (fitting.status === 'skipped' && project.allowMergeOnSkippedPipeline) return null
  const over = fitting.status === 'failed' || fitting.status === 'canceled' || fitting.status === 'skipped'
  return over || fitting.status === 'manual' ? 'ci_must_pass' : 'ci_still_running'
}

/** The first reason against merging once the git check has settled; null: none. */
export async function mergeBlocker(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
): Promise<string | null> {
  const repo = context.git(project)
  if (mergeRequest.state !== 'opened') return 'not_open'
  if (isDraft(mergeRequest)) return 'draft_status'
  const target = await branchHead(repo, mergeRequest.targetBranch)
  const source = await branchHead(repo, mergeRequest.sourceBranch)
  if (target === null || source === null || (await isAncestor(repo, mergeRequest.sha, target))) return 'commits_status'
  if (project.onlyAllowMergeIfAllDiscussionsAreResolved && !discussionsResolved(context, mergeRequest)) {
    return 'discussions_not_resolved'
  }
  if (mergeRequest.approvals.length < project.approvalsRequired) return 'not_approved'
  if (mergeRequest.mergeStatus === 'cannot_be_merged') return 'conflict'
  if (project.mergeMethod !== 'merge' && (await mergeBase(repo, mergeRequest.sha, target)) !== target)
    return 'need_rebase'
  return pipelineBlocker(context, project, mergeRequest)
}

export async function detailedMergeStatus(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
): Promise<string> {
  if (mergeRequest.preparedAt === null) return 'preparing'
  if (mergeRequest.mergeStatus === 'checking') return 'checking'
  if (!isSettled(mergeRequest)) return 'unchecked'
  return (await mergeBlocker(context, project, mergeRequest)) ?? 'mergeable'
}
