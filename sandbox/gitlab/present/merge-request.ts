/**
 * Merge requests as JSON: the list form, and the single form with pipeline, diff references and the reader's own rights.
 * Everything that git can tell (conflicts, distance to the target) is worked out at the time of reading.
 */
import type { SandboxContext } from '../context.ts'
import { branchHead, countCommits } from '../git/repository.ts'
import { squashesOnMerge } from '../merge-requests/merge.ts'
import {
  detailedMergeStatus,
  discussionsResolved,
  headPipeline,
  isDraft,
  publicMergeStatus,
  testedHead,
} from '../merge-requests/status.ts'
import { mayMerge } from '../protection.ts'
import type { MergeRequest, Project, User } from '../state.ts'
import { presentPipelineBasic, presentPipelineDetail } from './pipeline.ts'
import { projectUrl } from './project.ts'
import { presentUserId } from './user.ts'

/** `- [ ]` and `- [x]` lines of a description. */
function taskStatus(description: string) {
  const tasks = description.match(/^\s*(?:[-*+]|\d+[.)])\s+\[[ xX]\]/gm) ?? []
  return { count: tasks.length, completed_count: tasks.filter((task) => /\[[xX]\]/.test(task)).length }
}

function mergeOutcome(context: SandboxContext, mergeRequest: MergeRequest) {
  const mergeUser = presentUserId(context, mergeRequest.mergeUserId)
  return {
    merged_by: mergeRequest.state === 'merged' ? mergeUser : null,
    merge_user: mergeRequest.autoMerge ? presentUserId(context, mergeRequest.autoMerge.userId) : mergeUser,
    merged_at: mergeRequest.mergedAt,
    closed_by: presentUserId(context, mergeRequest.closedById),
    closed_at: mergeRequest.closedAt,
  }
}

function people(context: SandboxContext, mergeRequest: MergeRequest) {
  const assignees = mergeRequest.assigneeIds.map((id) => presentUserId(context, id))
  return {
    author: presentUserId(context, mergeRequest.authorId),
    assignees,
    assignee: assignees[0] ?? null,
    reviewers: mergeRequest.reviewerIds.map((id) => presentUserId(context, id)),
  }
}

function identity(context: SandboxContext, project: Project, mergeRequest: MergeRequest) {
  const reference = `!${mergeRequest.iid}`
  return {
    reference,
    references: { short: reference, relative: reference, full: `${project.pathWithNamespace}${reference}` },
    web_url: `${projectUrl(context, project)}/-/merge_requests/${mergeRequest.iid}`,
  }
}

/** The form of list items. */
export async function presentMergeRequest(context: SandboxContext, project: Project, mergeRequest: MergeRequest) {
  const notes = context.state.notes.filter(
    (note) =>
      !note.system &&
      note.noteableType === 'MergeRequest' &&
      note.projectId === project.id &&
      note.noteableIid === mergeRequest.iid,
  )
  const draft = isDraft(mergeRequest)
  return {
    id: mergeRequest.id,
    iid: mergeRequest.iid,
    project_id: project.id,
    title: mergeRequest.title,
    description: mergeRequest.description,
    state: mergeRequest.state,
    created_at: mergeRequest.createdAt,
    updated_at: mergeRequest.updatedAt,
    ...mergeOutcome(context, mergeRequest),
    merge_after: null,
    target_branch: mergeRequest.targetBranch,
    source_branch: mergeRequest.sourceBranch,
    user_notes_count: notes.length,
    upvotes: 0,
    downvotes: 0,
    ...people(context, mergeRequest),
    source_project_id: project.id,
    target_project_id: project.id,
    labels: [...mergeRequest.labels].sort(),
    draft,
    work_in_progress: draft,
    imported: false,
    imported_from: 'none',
    milestone: null,
    merge_when_pipeline_succeeds: mergeRequest.autoMerge !== null,
    merge_status: publicMergeStatus(mergeRequest),
    detailed_merge_status: await detailedMergeStatus(context, project, mergeRequest),
    sha: mergeRequest.sha,
    merge_commit_sha: mergeRequest.mergeCommitSha,
    squash_commit_sha: mergeRequest.squashCommitSha,
    discussion_locked: mergeRequest.discussionLocked,
    should_remove_source_branch: mergeRequest.shouldRemoveSourceBranch,
    force_remove_source_branch: mergeRequest.forceRemoveSourceBranch,
    prepared_at: mergeRequest.preparedAt,
    ...identity(context, project, mergeRequest),
    time_stats: { time_estimate: 0, total_time_spent: 0, human_time_estimate: null, human_total_time_spent: null },
    squash: mergeRequest.squash,
    squash_on_merge: squashesOnMerge(project, mergeRequest),
    task_completion_status: taskStatus(mergeRequest.description),
    has_conflicts: mergeRequest.mergeStatus === 'cannot_be_merged',
    blocking_discussions_resolved: discussionsResolved(context, mergeRequest),
    approvals_before_merge: null,
  }
}

export interface SingleOptions {
  readonly includeRebaseInProgress?: boolean
  readonly includeDivergedCommitsCount?: boolean
}

async function divergedCommits(context: SandboxContext, project: Project, mergeRequest: MergeRequest) {
  const repo = context.git(project)
  const target = await branchHead(repo, mergeRequest.targetBranch)
  return target === null ? 0 : countCommits(repo, `${mergeRequest.sha}..${target}`)
}

function diffRefs(mergeRequest: MergeRequest) {
  const refs = mergeRequest.diffRefs
  return refs && { base_sha: refs.baseSha, head_sha: refs.headSha, start_sha: refs.startSha }
}

/** The form of a single merge request, as `reader` sees it. */
export async function presentSingleMergeRequest(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
  reader: User,
  options: SingleOptions = {},
) {
  const pipeline = headPipeline(context, mergeRequest)
  const fitting = pipeline && testedHead(pipeline) === mergeRequest.sha ? pipeline : null
  return {
    ...(await presentMergeRequest(context, project, mergeRequest)),
    subscribed: mergeRequest.authorId === reader.id,
    changes_count: mergeRequest.changesCount,
    latest_build_started_at: pipeline?.startedAt ?? null,
    latest_build_finished_at: pipeline?.finishedAt ?? null,
    first_deployed_to_production_at: null,
    pipeline: fitting && presentPipelineBasic(context, fitting),
    head_pipeline: pipeline && presentPipelineDetail(context, pipeline),
    diff_refs: diffRefs(mergeRequest),
    merge_error: mergeRequest.mergeError,
    first_contribution: false,
    user: { can_merge: mayMerge(context, project, reader, mergeRequest.targetBranch) },
    ...(options.includeRebaseInProgress ? { rebase_in_progress: mergeRequest.rebaseInProgress } : {}),
    ...(options.includeDivergedCommitsCount
      ? { diverged_commits_count: await divergedCommits(context, project, mergeRequest) }
      : {}),
  }
}
