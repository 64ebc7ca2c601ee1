/**
 * Rebasing the source branch onto the target: accepted at once, done a moment later by replaying the commits for real. A
 * conflict leaves the branch alone and a text in `merge_error`.
 */
import type { SandboxContext } from '../context.ts'
import { forbidden, refusal } from '../errors.ts'
import { replay } from '../git/merge.ts'
import { branchHead } from '../git/repository.ts'
import { moveBranch } from '../git/write.ts'
import { mayForcePush, mayPush } from '../protection.ts'
import { recordPush } from '../pushes.ts'
import type { MergeRequest, Project, User } from '../state.ts'
import { touch } from './changes.ts'
import { identityOf } from './merge.ts'

const REBASE_DELAY_MS = 300
const CONFLICT = 'Rebase failed: Rebase locally, resolve all conflicts, then push the branch.'

/** The replay itself; also what a start does for a rebase that was under way. Call inside `exclusive`. */
export async function finishRebase(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
  userId: number,
): Promise<void> {
  const repo = context.git(project)
  const branch = mergeRequest.sourceBranch
  const user = context.findUser(userId)
  try {
    const before = await branchHead(repo, branch)
    const target = await branchHead(repo, mergeRequest.targetBranch)
    mergeRequest.mergeError = CONFLICT
    if (!user || before === null || target === null) return
    const result = await replay(repo, before, target, identityOf(user), context.clock.now())
    if (!result.ok) return
    if (result.sha !== before) {
      if (!(await moveBranch(repo, branch, before, result.sha))) return
      recordPush(context, { project, branch, before, after: result.sha, userId })
    }
    mergeRequest.mergeError = null
  } finally {
    mergeRequest.rebaseInProgress = false
    touch(context, mergeRequest)
  }
}

/** `PUT …/rebase`. Throws ApiError 403 or 409. */
export async function requestRebase(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
  user: User,
): Promise<void> {
  const branch = mergeRequest.sourceBranch
  if ((await branchHead(context.git(project), branch)) === null) throw forbidden('Source branch does not exist')
  if (!mayPush(context, project, user, branch)) throw forbidden('Cannot push to source branch')
  if (!mayForcePush(context, project, user, branch)) {
    throw forbidden('Source branch is protected from force push')
  }
  if (mergeRequest.rebaseInProgress) {
    throw refusal(
      409,
      'Failed to enqueue the rebase operation, possibly due to a long-lived transaction. Try again later.',
    )
  }
  mergeRequest.rebaseInProgress = true
  mergeRequest.mergeError = null
  touch(context, mergeRequest)
  context.later(REBASE_DELAY_MS, 'rebase', () =>
    context.exclusive(project, () => finishRebase(context, project, mergeRequest, user.id)),
  )
}
