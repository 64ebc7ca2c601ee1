/**
 * `POST …/repository/commits` from the start point to the moved branch, in GitLab's order: start, branch, branch name,
 * `last_commit_id` of each action, the actions, the reference. Objects written before a failure stay unreachable.
 */
import type { SandboxContext } from '../context.ts'
import { forbidden, refusal } from '../errors.ts'
import {
  branchHead,
  commitExists,
  isAncestor,
  isBranchName,
  lastCommitFor,
  type Repository,
  ZERO_SHA,
} from '../git/repository.ts'
import { editTree } from '../git/tree-editor.ts'
import { type Identity, moveBranch, writeCommit } from '../git/write.ts'
import { identityOf } from '../merge-requests/merge.ts'
import { mayForcePush, mayPush } from '../protection.ts'
import { recordPush } from '../pushes.ts'
import type { Project, User } from '../state.ts'
import { applyActions, cleanPath } from './apply-actions.ts'
import type { CommitRequest } from './request.ts'

/** 403 unless the user may push to `branch`. */
export function requirePush(context: SandboxContext, project: Project, user: User, branch: string): void {
  if (!mayPush(context, project, user, branch)) {
    throw forbidden('You are not allowed to push into this branch')
  }
}

interface StartPoint {
  /** Null in an empty repository. */
  readonly parent: string | null
  /** Where the branch is now; zeros when it is to be created. */
  readonly before: string
}

async function resolveStart(repo: Repository, project: Project, request: CommitRequest): Promise<string | null> {
  const { startSha } = request
  if (startSha !== null) {
    if (!/^[0-9a-f]{40}$/.test(startSha)) throw refusal(400, `Invalid start_sha '${startSha}'`)
    if (!(await commitExists(repo, startSha))) throw refusal(400, `Cannot find start_sha '${startSha}'`)
    return startSha
  }
  const head = await branchHead(repo, request.startBranch ?? request.branch)
  if (head === null && !project.emptyRepo) {
    throw refusal(400, 'You can only create or edit files when you are on a branch')
  }
  return head
}

async function findStart(repo: Repository, project: Project, request: CommitRequest): Promise<StartPoint> {
  const { branch } = request
  const parent = await resolveStart(repo, project, request)
  const before = await branchHead(repo, branch)
  const elsewhere = request.startSha !== null || (request.startBranch !== null && request.startBranch !== branch)
  if (elsewhere && before !== null && !request.force) {
    throw refusal(400, `A branch called '${branch}' already exists. Switch to that branch in order to make changes`)
  }
  if (before === null && !isBranchName(branch)) {
    throw refusal(400, `Something went wrong when we tried to create '${branch}' for you: Branch name is invalid`)
  }
  return { parent, before: before ?? ZERO_SHA }
}

/** Each `last_commit_id` must see the same last change of its path as the start point does. */
async function requireUnchanged(repo: Repository, parent: string | null, request: CommitRequest): Promise<void> {
  for (const action of request.actions) {
    if (action.lastCommitId === null || action.action === 'create' || parent === null) continue
    const path = action.action === 'move' ? (action.previousPath ?? '') : action.filePath
    const inTree = cleanPath(path)
    const now = await lastCommitFor(repo, parent, inTree)
    if (now === null) continue
    const known = await commitExists(repo, action.lastCommitId)
    const then = known ? await lastCommitFor(repo, action.lastCommitId, inTree) : null
    if (then !== now) throw refusal(400, `The file has changed since you started editing it: ${path}`)
  }
}

function authorOf(request: CommitRequest, user: User): Identity {
  return { name: request.authorName ?? user.name, email: request.authorEmail ?? user.email }
}

/** Makes the commit and returns its id. Call inside `exclusive`. Throws ApiError and then leaves no trace. */
export async function createCommit(
  context: SandboxContext,
  project: Project,
  user: User,
  request: CommitRequest,
): Promise<string> {
  const repo = context.git(project)
  const { branch } = request
  const { parent, before } = await findStart(repo, project, request)
  await requireUnchanged(repo, parent, request)
  const tree = editTree(repo, parent)
  await applyActions(tree, request.actions)
  const commit = await writeCommit(repo, {
    tree: await tree.write(),
    parents: parent === null ? [] : [parent],
    message: request.message,
    author: authorOf(request, user),
    committer: identityOf(user),
    date: context.clock.now(),
  })
  const loses = before !== ZERO_SHA && before !== parent && !(await isAncestor(repo, before, commit))
  if (loses && !mayForcePush(context, project, user, branch)) {
    throw refusal(400, 'You are not allowed to force push code to a protected branch on this project.')
  }
  if (!(await moveBranch(repo, branch, before, commit))) {
    // Somebody pushed with git meanwhile, or the name is that of another branch's directory.
    if (before !== ZERO_SHA) throw refusal(400, `Could not update refs/heads/${branch}. Please refresh and try again.`)
    throw refusal(400, `Something went wrong when we tried to create '${branch}' for you: Branch name is invalid`)
  }
  recordPush(context, { project, branch, before, after: commit, userId: user.id })
  return commit
}
