/**
 * Changing a merge request: fields, labels, people, and its state. A state event that does not fit the state changes
 * nothing and is no error.
 */
import type { SandboxContext } from '../context.ts'
import { refusal } from '../errors.ts'
import { branchHead } from '../git/repository.ts'
import type { MergeRequest, Project, User } from '../state.ts'
import { closeMergeRequest, reopenMergeRequest, touch } from './changes.ts'
import { learnLabels, validateMergeRequest } from './create.ts'
import { updateDiff } from './diff.ts'
import { resetCheck } from './mergeability.ts'
import { applyQuickActions, extractQuickActions } from './quick-actions.ts'

export interface MergeRequestUpdate {
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly targetBranch?: string | undefined
  readonly labels?: readonly string[] | undefined
  readonly addLabels?: readonly string[] | undefined
  readonly removeLabels?: readonly string[] | undefined
  readonly stateEvent?: 'close' | 'reopen' | undefined
  readonly assigneeIds?: readonly number[] | undefined
  readonly reviewerIds?: readonly number[] | undefined
  readonly removeSourceBranch?: boolean | undefined
  readonly squash?: boolean | undefined
  readonly discussionLocked?: boolean | undefined
}

type Changes = Record<string, { previous: unknown; current: unknown }>

function newLabels(mergeRequest: MergeRequest, given: MergeRequestUpdate): string[] {
  const base = given.labels ?? mergeRequest.labels
  const kept = base.filter((label) => !given.removeLabels?.includes(label))
  return [...new Set([...kept, ...(given.addLabels ?? [])])]
}

function sameNames(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((name) => b.includes(name))
}

/** Writes the plain fields and says which of them changed. */
function applyFields(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
  given: MergeRequestUpdate & { title: string; description: string },
): Changes {
  const changes: Changes = {}
  const note = (key: string, previous: unknown, current: unknown) => {
    const same = Array.isArray(previous) && Array.isArray(current) ? sameNames(previous, current) : previous === current
    if (!same) changes[key] = { previous, current }
  }
  note('title', mergeRequest.title, given.title)
  mergeRequest.title = given.title
  note('description', mergeRequest.description, given.description)
  mergeRequest.description = given.description
  const labels = newLabels(mergeRequest, given)
  note('labels', mergeRequest.labels, labels)
  mergeRequest.labels = learnLabels(project, labels)
  const known = (ids: readonly number[]) => [...new Set(ids)].filter((id) => context.findUser(id) !== null)
  const assigneeIds = known(given.assigneeIds ?? mergeRequest.assigneeIds)
  note('assignees', mergeRequest.assigneeIds, assigneeIds)
  mergeRequest.assigneeIds = assigneeIds
  const reviewerIds = known(given.reviewerIds ?? mergeRequest.reviewerIds)
  note('reviewers', mergeRequest.reviewerIds, reviewerIds)
  mergeRequest.reviewerIds = reviewerIds
  note('squash', mergeRequest.squash, given.squash ?? mergeRequest.squash)
  mergeRequest.squash = given.squash ?? mergeRequest.squash
  mergeRequest.forceRemoveSourceBranch = given.removeSourceBranch ?? mergeRequest.forceRemoveSourceBranch
  note('discussion_locked', mergeRequest.discussionLocked, given.discussionLocked ?? mergeRequest.discussionLocked)
  mergeRequest.discussionLocked = given.discussionLocked ?? mergeRequest.discussionLocked
  return changes
}

/** Call inside `exclusive`. Throws ApiError 400, 409 or 422. */
export async function updateMergeRequest(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
  user: User,
  given: MergeRequestUpdate,
): Promise<void> {
  const { text: description, actions } = extractQuickActions(given.description ?? mergeRequest.description)
  const title = (given.title ?? mergeRequest.title).trim()
  const { sourceBranch, targetBranch: oldTarget } = mergeRequest
  const targetBranch = given.targetBranch ?? oldTarget
  const reopens = given.stateEvent === 'reopen' && mergeRequest.state === 'closed'
  validateMergeRequest(context, project, { sourceBranch, targetBranch, title, description }, mergeRequest, reopens)
  if (targetBranch !== oldTarget && (await branchHead(context.git(project), targetBranch)) === null) {
    throw refusal(400, { target_branch: ['does not exist'] })
  }
  const changes = applyFields(context, project, mergeRequest, { ...given, title, description })
  if (targetBranch !== oldTarget && mergeRequest.state === 'opened') {
    changes['target_branch'] = { previous: oldTarget, current: targetBranch }
    mergeRequest.targetBranch = targetBranch
    resetCheck(mergeRequest)
    await updateDiff(context, project, mergeRequest)
  }
  if (Object.keys(changes).length > 0) {
    touch(context, mergeRequest)
    context.signals.emit('merge_request', { mergeRequest, action: 'update', userId: user.id, changes })
  }
  if (given.stateEvent === 'close') closeMergeRequest(context, mergeRequest, user.id)
  if (given.stateEvent === 'reopen') {
    reopenMergeRequest(context, mergeRequest, user.id)
  }
  applyQuickActions(context, project, mergeRequest, user, actions)
  context.save()
}
