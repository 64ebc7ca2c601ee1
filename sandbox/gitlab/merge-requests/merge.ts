/**
 * Merging: the checks in GitLab's order, the git work by the project's merge method, and what follows (target push, source
 * branch removal). Also the merge that waits for a green pipeline.
 */
import type { SandboxContext } from '../context.ts'
import { methodNotAllowed, refusal, unauthorized } from '../errors.ts'
import { mergeTree } from '../git/merge.ts'
import { branchHead, countCommits, mergeBase, type Repository, readCommit, ZERO_SHA } from '../git/repository.ts'
import { type Identity, moveBranch, writeCommit } from '../git/write.ts'
import { isProtected, mayMerge } from '../protection.ts'
import { recordPush } from '../pushes.ts'
import type { AutoMerge, MergeRequest, Project, User } from '../state.ts'
import { markMerged, touch } from './changes.ts'
import { checkNow } from './mergeability.ts'
import { headPipeline, mergeBlocker, testedHead } from './status.ts'

const REMOVE_BRANCH_DELAY_MS = 100

export interface MergeOptions extends Omit<AutoMerge, 'userId' | 'squash'> {
  readonly sha: string | null
  readonly squash: boolean | null
  readonly autoMerge: boolean
}

export function identityOf(user: User): Identity {
  return { name: user.name, email: user.email }
}

function mergeMessage(project: Project, mergeRequest: MergeRequest): string {
  return [
    `Merge branch '${mergeRequest.sourceBranch}' into '${mergeRequest.targetBranch}'`,
    mergeRequest.title,
    `See merge request ${project.pathWithNamespace}!${mergeRequest.iid}`,
  ].join('\n\n')
}

interface MergeResult {
  /** What the target branch becomes. */
  readonly tip: string
  readonly mergeCommit: string | null
  readonly squashCommit: string | null
}

/** Writes the commits of a merge; null when git cannot merge the two sides. */
async function writeMerge(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
  wish: AutoMerge,
  target: string,
): Promise<MergeResult | null> {
  const repo = context.git(project)
  const user = context.findUser(wish.userId)
  const author = context.findUser(mergeRequest.authorId)
  if (!user || !author) return null
  const date = context.clock.now()
  const committer = identityOf(user)
  let head = mergeRequest.sha
  if (wish.squash) {
    const base = await mergeBase(repo, target, head)
    const commit = await readCommit(repo, head)
    if (base === null || commit === null) return null
    const { tree } = commit
    const message = wish.squashCommitMessage ?? mergeRequest.title
    // One commit that says the same already is what squashing would make.
    const redundant = commit.message.trim() === message.trim() && (await countCommits(repo, `${base}..${head}`)) === 1
    if (!redundant)
      head = await writeCommit(repo, { tree, parents: [base], message, author: identityOf(author), committer, date })
  }
  const squashCommit = wish.squash ? head : null
  if (project.mergeMethod === 'ff') return { tip: head, mergeCommit: null, squashCommit }
  const tree = await mergeTree(repo, target, head)
  if (tree === null) return null
  const message = wish.mergeCommitMessage ?? mergeMessage(project, mergeRequest)
  const mergeCommit = await writeCommit(repo, {
    tree,
    parents: [target, head],
    message,
    author: committer,
    committer,
    date,
  })
  return { tip: mergeCommit, mergeCommit, squashCommit }
}

/** Removes the source branch of a merged request a moment later, if that was asked for. */
export function removeSourceBranchLater(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
  userId: number,
) {
  if (!(mergeRequest.shouldRemoveSourceBranch ?? mergeRequest.forceRemoveSourceBranch)) return
  const branch = mergeRequest.sourceBranch
  if (branch === project.defaultBranch || isProtected(project, branch)) return
  context.later(REMOVE_BRANCH_DELAY_MS, 'remove source branch', () =>
    context.exclusive(project, async () => {
      // Commits that came after the merge are not lost: the branch goes only while it is what was merged.
      const gone = await moveBranch(context.git(project), branch, mergeRequest.sha, ZERO_SHA)
      if (gone) recordPush(context, { project, branch, before: mergeRequest.sha, after: ZERO_SHA, userId })
    }),
  )
}

async function performMerge(context: SandboxContext, project: Project, mergeRequest: MergeRequest, wish: AutoMerge) {
  const repo = context.git(project)
  const branch = mergeRequest.targetBranch
  const before = await branchHead(repo, branch)
  if (project.squashOption === 'always' && !mergeRequest.squash) {
    mergeRequest.mergeError = 'This project requires squashing commits when merge requests are accepted.'
    touch(context, mergeRequest)
    throw refusal(422, 'Branch cannot be merged')
  }
  mergeRequest.state = 'locked'
  const result = before === null ? null : await writeMerge(context, project, mergeRequest, wish, before)
  if (before === null || result === null || !(await moveBranch(repo, branch, before, result.tip))) {
    mergeRequest.state = 'opened'
    mergeRequest.mergeError = 'Something went wrong during merge: the source branch could not be merged.'
    touch(context, mergeRequest)
    throw refusal(422, 'Branch cannot be merged')
  }
  mergeRequest.mergeCommitSha = result.mergeCommit
  mergeRequest.squashCommitSha = result.squashCommit
  mergeRequest.shouldRemoveSourceBranch = wish.shouldRemoveSourceBranch ?? mergeRequest.shouldRemoveSourceBranch
  markMerged(context, mergeRequest, wish.userId)
  recordPush(context, { project, branch, before, after: result.tip, userId: wish.userId })
  removeSourceBranchLater(context, project, mergeRequest, wish.userId)
}

/** The project's option goes before the request's own. */
export function squashesOnMerge(project: Project, mergeRequest: MergeRequest): boolean {
  if (project.squashOption === 'always') return true
  return project.squashOption !== 'never' && mergeRequest.squash
}

/** Reasons that pass without anybody changing the request: an automatic merge may wait for these. */
const PASSING = ['ci_still_running', 'not_approved']

function pipelineRuns(context: SandboxContext, mergeRequest: MergeRequest): boolean {
  const pipeline = headPipeline(context, mergeRequest)
  const alive = ['created', 'pending', 'running', 'waiting_for_resource', 'preparing', 'scheduled']
  return pipeline !== null && testedHead(pipeline) === mergeRequest.sha && alive.includes(pipeline.status)
}

/** `PUT …/merge`. Call inside `exclusive`. Throws ApiError 401, 405, 409 or 422, in GitLab's order. */
export async function mergeMergeRequest(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
  user: User,
  options: MergeOptions,
): Promise<void> {
  if (!mayMerge(context, project, user, mergeRequest.targetBranch)) throw unauthorized()
  requireHead(mergeRequest, options.sha)
  if (mergeRequest.preparedAt === null) throw methodNotAllowed()
  await checkNow(context, project, mergeRequest)
  const blocker = await mergeBlocker(context, project, mergeRequest)
  // `true` is stored like any change of the request; `false` is the same as nothing.
  if (options.squash && (options.autoMerge || blocker === null)) mergeRequest.squash = true
  const wish: AutoMerge = {
    userId: user.id,
    squash: squashesOnMerge(project, mergeRequest),
    shouldRemoveSourceBranch: options.shouldRemoveSourceBranch,
    mergeCommitMessage: options.mergeCommitMessage,
    squashCommitMessage: options.squashCommitMessage,
  }
  const waits = blocker === null ? pipelineRuns(context, mergeRequest) : PASSING.includes(blocker)
  if (options.autoMerge && waits) {
    mergeRequest.autoMerge = wish
    mergeRequest.shouldRemoveSourceBranch = wish.shouldRemoveSourceBranch ?? mergeRequest.shouldRemoveSourceBranch
    touch(context, mergeRequest)
    const changes = { merge_when_pipeline_succeeds: { previous: false, current: true } }
    context.signals.emit('merge_request', { mergeRequest, action: 'update', userId: user.id, changes })
    return
  }
  if (blocker !== null) throw methodNotAllowed()
  await performMerge(context, project, mergeRequest, wish)
}

/** 409 unless `sha` is absent or the head. */
export function requireHead(mergeRequest: MergeRequest, sha: string | null): void {
  if (sha === null || sha === mergeRequest.sha) return
  throw refusal(409, `SHA does not match HEAD of source branch: ${mergeRequest.sha}`)
}

/** Merges a request that waits for it, if nothing stands in the way any more. Call inside `exclusive`. */
export async function tryAutoMerge(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
): Promise<void> {
  const wish = mergeRequest.autoMerge
  if (wish === null || mergeRequest.state !== 'opened' || pipelineRuns(context, mergeRequest)) return
  await checkNow(context, project, mergeRequest)
  if ((await mergeBlocker(context, project, mergeRequest)) === null) {
    await performMerge(context, project, mergeRequest, wish)
  }
}

/** Lets waiting automatic merges look again whenever a pipeline ends or an approval comes. */
export function startAutoMerge(context: SandboxContext): void {
  const look = (mergeRequest: MergeRequest) => {
    const project = context.findProject(mergeRequest.projectId)
    if (!project || mergeRequest.autoMerge === null) return
    context.later(0, 'merge automatically', () =>
      context.exclusive(project, () => tryAutoMerge(context, project, mergeRequest)),
    )
  }
  context.signals.on('pipeline', ({ pipeline }) => {
    for (const mergeRequest of context.state.mergeRequests) {
      if (mergeRequest.projectId === pipeline.projectId && mergeRequest.sha === testedHead(pipeline)) look(mergeRequest)
    }
  })
  context.signals.on('merge_request', ({ mergeRequest }) => look(mergeRequest))
}

/** The commit that merging `head` now would make; null when the two sides conflict. */
export async function mergeToBe(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
  head: string,
): Promise<string | null> {
  const repo: Repository = context.git(project)
  const target = await branchHead(repo, mergeRequest.targetBranch)
  const author = context.findUser(mergeRequest.authorId)
  const tree = target === null ? null : await mergeTree(repo, target, head)
  if (target === null || tree === null || !author) return null
  const identity = identityOf(author)
  return writeCommit(repo, {
    tree,
    parents: [target, head],
    message: `Merge commit '${head}' into ${mergeRequest.targetBranch}`,
    author: identity,
    committer: identity,
    // A fixed date: the same two sides give the same commit however often it is asked for.
    date: new Date(mergeRequest.createdAt),
  })
}

/** The same for `GET …/merge_ref`, kept as the reference that GitLab keeps it by. */
export async function writeMergeRef(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
): Promise<string | null> {
  const sha = await mergeToBe(context, project, mergeRequest, mergeRequest.sha)
  const ref = `refs/merge-requests/${mergeRequest.iid}/merge`
  if (sha !== null) await context.git(project).run(['update-ref', ref, sha])
  return sha
}
