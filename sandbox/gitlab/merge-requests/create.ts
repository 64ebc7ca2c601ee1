/**
 * Opening a merge request: GitLab's refusals in its order, the record, and a moment later the preparation (diff, change
 * count) until which the request reads `preparing`.
 */
import type { SandboxContext } from '../context.ts'
import { refusal } from '../errors.ts'
import { branchHead } from '../git/repository.ts'
import type { MergeRequest, Project, User } from '../state.ts'
import { touch } from './changes.ts'
import { updateDiff } from './diff.ts'
import { applyQuickActions, extractQuickActions } from './quick-actions.ts'

const PREPARE_DELAY_MS = 80
const MAX_TITLE = 255
const MAX_DESCRIPTION = 1_048_576

export interface NewMergeRequest {
  readonly sourceBranch: string
  readonly targetBranch: string
  readonly title: string
  readonly description?: string | undefined
  readonly labels?: readonly string[] | undefined
  readonly assigneeIds?: readonly number[] | undefined
  readonly reviewerIds?: readonly number[] | undefined
  readonly squash?: boolean | undefined
  readonly removeSourceBranch?: boolean | undefined
}

/**
 * Refuses what create and update both refuse. `self` is the request being changed; a closed one collides with an open one
 * of the same branches only if it `reopens`.
 */
export function validateMergeRequest(
  context: SandboxContext,
  project: Project,
  given: { sourceBranch: string; targetBranch: string; title: string; description: string },
  self: MergeRequest | null,
  reopens = false,
): void {
  if (given.sourceBranch === given.targetBranch) {
    throw refusal(422, ["You can't use same project/branch for source and target"])
  }
  if (!project.mergeRequestsEnabled) throw refusal(422, ['Target project has disabled merge requests'])
  const other = context.state.mergeRequests.find(
    (candidate) =>
      candidate !== self &&
      candidate.projectId === project.id &&
      candidate.state === 'opened' &&
      candidate.sourceBranch === given.sourceBranch &&
      candidate.targetBranch === given.targetBranch,
  )
  if (other && (self === null || self.state === 'opened' || reopens)) {
    throw refusal(409, [`Another open merge request already exists for this source branch: !${other.iid}`])
  }
  if (given.title.trim() === '') throw refusal(400, { title: ["can't be blank"] })
  if (given.title.length > MAX_TITLE)
    throw refusal(400, { title: [`is too long (maximum is ${MAX_TITLE} characters)`] })
  if (given.description.length > MAX_DESCRIPTION) {
    throw refusal(400, { description: [`is too long (maximum is ${MAX_DESCRIPTION} characters)`] })
  }
}

/** Labels come into being when they are first used. */
export function learnLabels(project: Project, labels: readonly string[]): string[] {
  for (const label of labels) if (!project.labels.includes(label)) project.labels.push(label)
  return [...new Set(labels)]
}

/** The diff and the change count; runs once, a moment after the creation. */
export async function prepareMergeRequest(context: SandboxContext, project: Project, mergeRequest: MergeRequest) {
  if (mergeRequest.preparedAt !== null) return
  await updateDiff(context, project, mergeRequest)
  mergeRequest.preparedAt = context.timestamp()
  context.save()
}

function knownUsers(context: SandboxContext, ids: readonly number[]): number[] {
  return [...new Set(ids)].filter((id) => context.findUser(id) !== null)
}

/** Call inside `exclusive`. Throws ApiError. */
export async function createMergeRequest(
  context: SandboxContext,
  project: Project,
  author: User,
  given: NewMergeRequest,
): Promise<MergeRequest> {
  const { text: description, actions } = extractQuickActions(given.description ?? '')
  validateMergeRequest(context, project, { ...given, description }, null)
  const repo = context.git(project)
  const head = await branchHead(repo, given.sourceBranch)
  if (head === null) throw refusal(400, { source_branch: ['does not exist'] })
  if ((await branchHead(repo, given.targetBranch)) === null) throw refusal(400, { target_branch: ['does not exist'] })
  const now = context.timestamp()
  const mergeRequest: MergeRequest = {
    id: context.nextId(),
    iid: project.nextMergeRequestIid++,
    projectId: project.id,
    authorId: author.id,
    title: given.title.trim(),
    description,
    state: 'opened',
    sourceBranch: given.sourceBranch,
    targetBranch: given.targetBranch,
    sha: head,
    mergeStatus: 'unchecked',
    mergeError: null,
    mergeCommitSha: null,
    squashCommitSha: null,
    labels: learnLabels(project, given.labels ?? []),
    assigneeIds: knownUsers(context, given.assigneeIds ?? []),
    reviewerIds: knownUsers(context, given.reviewerIds ?? []),
    squash: given.squash ?? (project.squashOption === 'always' || project.squashOption === 'default_on'),
    forceRemoveSourceBranch: given.removeSourceBranch ?? false,
    shouldRemoveSourceBranch: null,
    approvals: [],
    headPipelineId: null,
    discussionLocked: null,
    createdAt: now,
    updatedAt: now,
    mergedAt: null,
    mergeUserId: null,
    closedAt: null,
    closedById: null,
    preparedAt: null,
    rebaseInProgress: false,
    autoMerge: null,
    changesCount: null,
    diffRefs: null,
  }
  context.state.mergeRequests.push(mergeRequest)
  touch(context, mergeRequest)
  context.signals.emit('merge_request', { mergeRequest, action: 'open', userId: author.id, changes: {} })
  applyQuickActions(context, project, mergeRequest, author, actions)
  context.later(PREPARE_DELAY_MS, 'prepare merge request', () =>
    context.exclusive(project, () => prepareMergeRequest(context, project, mergeRequest)),
  )
  return mergeRequest
}
