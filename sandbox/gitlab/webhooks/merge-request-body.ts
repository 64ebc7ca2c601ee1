/** Bodies of `Merge Request Hook` and `Note Hook`. They take copies of records, so that later changes do not show in them. */
import { createHash } from 'node:crypto'
import type { SandboxContext } from '../context.ts'
import { detailedMergeStatus, isDraft } from '../merge-requests/status.ts'
import { projectUrl } from '../present/project.ts'
import type { MergeRequest, Note, Project, SandboxSignals } from '../state.ts'
import { hookCommitAt, hookLabels, hookProject, hookRepository, hookTime, hookUser } from './parts.ts'

const STATE_IDS: Record<MergeRequest['state'], number> = { opened: 1, closed: 2, merged: 3, locked: 4 }

export async function mergeRequestBody(
  context: SandboxContext,
  project: Project,
  event: SandboxSignals['merge_request'][0],
): Promise<object> {
  const { mergeRequest, action, userId, oldrev, changes } = event
  const people = (ids: readonly number[]) => ids.map((id) => hookUser(context, id))
  return {
    object_kind: 'merge_request',
    event_type: 'merge_request',
    user: hookUser(context, userId),
    project: hookProject(context, project),
    object_attributes: {
      ...(await mergeRequestAttributes(context, project, mergeRequest)),
      action,
      ...(oldrev === undefined ? {} : { oldrev }),
    },
    labels: hookLabels(project, mergeRequest.labels),
    changes: withHookTimes(changes),
    repository: hookRepository(context, project),
    ...(mergeRequest.assigneeIds.length > 0 ? { assignees: people(mergeRequest.assigneeIds) } : {}),
    ...(mergeRequest.reviewerIds.length > 0 ? { reviewers: people(mergeRequest.reviewerIds) } : {}),
  }
}

export async function noteBody(
  context: SandboxContext,
  project: Project,
  note: Note,
  mergeRequest: MergeRequest,
): Promise<object> {
  return {
    object_kind: 'note',
    event_type: 'note',
    user: hookUser(context, note.authorId),
    project_id: project.id,
    project: hookProject(context, project),
    object_attributes: {
      attachment: null,
      author_id: note.authorId,
      change_position: null,
      commit_id: null,
      created_at: hookTime(note.createdAt),
      discussion_id: createHash('sha1').update(`discussion ${note.id}`).digest('hex'),
      id: note.id,
      internal: false,
      line_code: null,
      note: note.body,
      noteable_id: mergeRequest.id,
      noteable_type: note.noteableType,
      original_position: null,
      position: null,
      project_id: project.id,
      resolved_at: null,
      resolved_by_id: null,
      resolved_by_push: null,
      st_diff: null,
      system: note.system,
      type: null,
      updated_at: hookTime(note.updatedAt),
      updated_by_id: null,
      description: note.body,
      url: `${projectUrl(context, project)}/-/merge_requests/${mergeRequest.iid}#note_${note.id}`,
      action: note.updatedAt === note.createdAt ? 'create' : 'update',
    },
    repository: hookRepository(context, project),
    merge_request: await mergeRequestAttributes(context, project, mergeRequest),
  }
}

async function mergeRequestAttributes(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
): Promise<object> {
  const draft = isDraft(mergeRequest)
  return {
    assignee_id: mergeRequest.assigneeIds[0] ?? null,
    author_id: mergeRequest.authorId,
    created_at: hookTime(mergeRequest.createdAt),
    description: mergeRequest.description,
    draft,
    head_pipeline_id: mergeRequest.headPipelineId,
    id: mergeRequest.id,
    iid: mergeRequest.iid,
    last_edited_at: null,
    last_edited_by_id: null,
    merge_commit_sha: mergeRequest.mergeCommitSha,
    merge_error: mergeRequest.mergeError,
    merge_params: { force_remove_source_branch: mergeRequest.forceRemoveSourceBranch },
    // The stored value, also while the request is being prepared: hooks do not translate it as REST does.
    merge_status: mergeRequest.preparedAt === null ? 'preparing' : mergeRequest.mergeStatus,
    merge_user_id: mergeRequest.mergeUserId,
    merge_when_pipeline_succeeds: mergeRequest.autoMerge !== null,
    milestone_id: null,
    source_branch: mergeRequest.sourceBranch,
    source_project_id: project.id,
    state_id: STATE_IDS[mergeRequest.state],
    target_branch: mergeRequest.targetBranch,
    target_project_id: project.id,
    time_estimate: 0,
    title: mergeRequest.title,
    updated_at: hookTime(mergeRequest.updatedAt),
    updated_by_id: null,
    prepared_at: hookTime(mergeRequest.preparedAt),
    assignee_ids: mergeRequest.assigneeIds,
    blocking_discussions_resolved: true,
    detailed_merge_status: await detailedMergeStatus(context, project, mergeRequest),
    first_contribution: false,
    human_time_change: null,
    human_time_estimate: null,
    human_total_time_spent: null,
    labels: hookLabels(project, mergeRequest.labels),
    last_commit: await hookCommitAt(context, project, mergeRequest.sha),
    reviewer_ids: mergeRequest.reviewerIds,
    source: hookProject(context, project),
    state: mergeRequest.state,
    target: hookProject(context, project),
    time_change: 0,
    total_time_spent: 0,
    url: `${projectUrl(context, project)}/-/merge_requests/${mergeRequest.iid}`,
    work_in_progress: draft,
  }
}

/** `changes` with the times of REST records turned into those of hooks. */
function withHookTimes(changes: Record<string, unknown>): Record<string, unknown> {
  const translate = (value: unknown) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? hookTime(value) : value
  const entries = Object.entries(changes).map(([key, change]) => {
    if (!key.endsWith('_at') || typeof change !== 'object' || change === null) return [key, change]
    return [key, Object.fromEntries(Object.entries(change).map(([side, value]) => [side, translate(value)]))]
  })
  return Object.fromEntries(entries)
}
