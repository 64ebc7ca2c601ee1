/**
 * Finds, reopens or creates the merge request of a branch, and corrects what has drifted from the caller's wish. Creating
 * is safe to repeat: GitLab allows one open merge request for each pair of branches, and the one that is there is found.
 */

import { GitLabError } from '../../../gitlab/errors.ts'
import type { GitLabMergeRequest, GitLabMergeRequestChanges, GitLabMergeRequestFields } from '../../../gitlab/port.ts'
import { isDraftTitle } from '../inspection/text-rules.ts'
import { sanitizeText } from '../sanitize-text.ts'
import type { MrSubmission } from '../schema.ts'
import { type Action, refuse, textPolicyOf } from './context.ts'
import type { Target } from './project.ts'

const DRAFT_MARK = 'Draft: '
/** GitLab's limit. */
const MAX_TITLE = 255

/** `current` is what GitLab says now about the item's merge request, null when it has none that could be used. */
export async function ensureMergeRequest(
  action: Action,
  content: MrSubmission,
  target: Target,
  current: GitLabMergeRequest | null,
): Promise<GitLabMergeRequest> {
  const fields = await wantedFields(action, content, target)
  const found =
    (current?.state === 'opened' ? current : await reopen(action, current)) ??
    (await findOpen(action, content, target)) ??
    (await create(action, content, target, fields))
  const corrected = await correct(action, found, target.branch.name, fields)
  if (corrected.description !== fields.description) {
    // GitLab takes quick actions out of a description and executes them; then the sanitiser has a hole.
    action.context.log.error(
      { work_item_id: action.draft.item.id, mr_iid: corrected.iid },
      'GitLab keeps another description than was sent; it may have executed a part of it',
    )
  }
  return corrected
}

async function wantedFields(
  action: Action,
  content: MrSubmission,
  { project }: Target,
): Promise<GitLabMergeRequestFields> {
  return {
    title: titleOf(action, content),
    description: sanitizeText(content.description, textPolicyOf(action)).trimEnd(),
    labels: content.labels,
    assigneeIds: await userIds(action, content.assignees),
    reviewerIds: await userIds(action, content.reviewers),
    squash: project.squashOption === 'always' || (content.squash && project.squashOption !== 'never'),
    removeSourceBranch: content.remove_source_branch,
  }
}

/** A draft for as long as nobody has agreed to this very commit (decision 0067): GitLab itself then refuses the merge. */
function titleOf(action: Action, content: MrSubmission): string {
  const { detail } = action.draft
  // GitLab takes blanks at the ends off, of the description only those at its end: what comes back is compared.
  const title = sanitizeText(content.title, textPolicyOf(action)).trim()
  const isReviewed = !detail.needsReview || (detail.writtenSha !== null && detail.reviewedSha === detail.writtenSha)
  if (isReviewed || isDraftTitle(title)) return title
  const draft = `${DRAFT_MARK}${title}`
  if (draft.length <= MAX_TITLE) return draft
  // Not through the middle of a character that takes two units.
  return `${draft.slice(0, MAX_TITLE - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

async function userIds({ services, context }: Action, names: readonly string[]): Promise<readonly number[]> {
  const ids: number[] = []
  for (const name of new Set(names)) {
    const id = await services.gitlab.getUserId(name, context)
    if (id === null) refuse('user_unknown', `GitLab knows no user ${name}; correct the assignees and reviewers.`)
    ids.push(id)
  }
  return ids
}

async function reopen(
  { services, context }: Action,
  current: GitLabMergeRequest | null,
): Promise<GitLabMergeRequest | null> {
  if (current?.state !== 'closed') return null
  try {
    const answer = await services.gitlab.updateMergeRequest(
      current.projectId,
      current.iid,
      { stateEvent: 'reopen' },
      context,
    )
    return answer.state === 'opened' ? answer : null
  } catch (error) {
    // Another one is open for the same branches, or GitLab will not reopen this one: the others are tried next.
    if (error instanceof GitLabError && error.failure === 'permanent') return null
    throw error
  }
}

function findOpen({ services, context }: Action, content: MrSubmission, { project, branch }: Target) {
  return services.gitlab.findOpenMergeRequest(project.id, content.source_branch, branch.name, context)
}

async function create(
  action: Action,
  content: MrSubmission,
  target: Target,
  fields: GitLabMergeRequestFields,
): Promise<GitLabMergeRequest> {
  const branches = { sourceBranch: content.source_branch, targetBranch: target.branch.name }
  try {
    return await action.services.gitlab.createMergeRequest(target.project.id, branches, fields, action.context)
  } catch (error) {
    if (!(error instanceof GitLabError) || error.code !== 'merge_request_exists') throw error
    const existing = await findOpen(action, content, target)
    if (existing === null) throw error
    return existing
  }
}

async function correct(
  { services, context }: Action,
  mergeRequest: GitLabMergeRequest,
  targetBranch: string,
  wanted: GitLabMergeRequestFields,
): Promise<GitLabMergeRequest> {
  // People add labels and reviewers of their own; those stay.
  const missing = wanted.labels.filter((label) => !mergeRequest.labels.includes(label))
  const assigneeIds = joined(mergeRequest.assigneeIds, wanted.assigneeIds)
  const reviewerIds = joined(mergeRequest.reviewerIds, wanted.reviewerIds)
  const { title, description, squash, removeSourceBranch } = wanted
  const changes: GitLabMergeRequestChanges = {
    ...(mergeRequest.targetBranch === targetBranch ? {} : { targetBranch }),
    ...(mergeRequest.title === title ? {} : { title }),
    ...(mergeRequest.description === description ? {} : { description }),
    ...(mergeRequest.squash === squash ? {} : { squash }),
    ...(mergeRequest.removeSourceBranch === removeSourceBranch ? {} : { removeSourceBranch }),
    ...(missing.length === 0 ? {} : { addLabels: missing }),
    ...(assigneeIds === null ? {} : { assigneeIds }),
    ...(reviewerIds === null ? {} : { reviewerIds }),
  }
  if (Object.keys(changes).length === 0) return mergeRequest
  return services.gitlab.updateMergeRequest(mergeRequest.projectId, mergeRequest.iid, changes, context)
}

/** Everything of both, or null when nothing wanted is missing. */
function joined<Value>(actual: readonly Value[], wanted: readonly Value[]): readonly Value[] | null {
  return wanted.every((value) => actual.includes(value)) ? null : [...new Set([...actual, ...wanted])]
}
