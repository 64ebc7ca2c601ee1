/**
 * What a push does to merge requests, a moment after it: a push to the source moves the head, a deleted source closes the
 * request, a push to the target that brings the head along merges it, and either side's push sets the git check back.
 */
import type { SandboxContext } from '../context.ts'
import { branchHead, ZERO_SHA } from '../git/repository.ts'
import type { MergeRequest, Project, Push } from '../state.ts'
import { closeMergeRequest, markMerged, touch } from './changes.ts'
import { updateDiff } from './diff.ts'
import { resetCheck } from './mergeability.ts'

/** The commit by which `head` came into the line of first parents that ends at `tip`. */
export async function mergingCommit(
  context: SandboxContext,
  project: Project,
  head: string,
  tip: string,
): Promise<string> {
  const repo = context.git(project)
  const line = await repo.text(['rev-list', '--first-parent', '--ancestry-path', `${head}..${tip}`])
  const firstParents = new Set((await repo.text(['rev-list', '--first-parent', tip])).split('\n'))
  if (firstParents.has(head)) return head
  return line.split('\n').at(-1) || tip
}

/** The commits that the push has brought into its branch; asked once for all merge requests, of which there may be hundreds. */
async function commitsOf(context: SandboxContext, { project, before, after }: Push): Promise<ReadonlySet<string>> {
  if (after === ZERO_SHA) return new Set()
  const range = before === ZERO_SHA ? [after] : [after, `^${before}`]
  return new Set((await context.git(project).text(['rev-list', ...range])).split('\n'))
}

async function followTarget(
  context: SandboxContext,
  mergeRequest: MergeRequest,
  push: Push,
  brought: ReadonlySet<string>,
): Promise<void> {
  const { sha } = mergeRequest
  if (brought.has(sha)) {
    mergeRequest.mergeCommitSha = await mergingCommit(context, push.project, sha, push.after)
    markMerged(context, mergeRequest, push.userId)
    return
  }
  resetCheck(mergeRequest)
  context.save()
}

/** Brings the request up to the source branch's tip, whoever moved it. */
export async function followSource(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
  userId: number,
): Promise<void> {
  const head = await branchHead(context.git(project), mergeRequest.sourceBranch)
  if (head === null) {
    closeMergeRequest(context, mergeRequest, userId)
    return
  }
  if (head === mergeRequest.sha) return
  const oldrev = mergeRequest.sha
  mergeRequest.sha = head
  resetCheck(mergeRequest)
  mergeRequest.autoMerge = null
  if (project.resetApprovalsOnPush && mergeRequest.approvals.length > 0) {
    mergeRequest.approvals = []
    context.signals.emit('merge_request', { mergeRequest, action: 'unapproved', userId, changes: {} })
  }
  await updateDiff(context, project, mergeRequest)
  touch(context, mergeRequest)
  context.signals.emit('merge_request', { mergeRequest, action: 'update', userId, oldrev, changes: {} })
}

/** Call inside `exclusive`. */
export async function refreshMergeRequests(context: SandboxContext, push: Push): Promise<void> {
  const open = context.state.mergeRequests.filter(
    ({ projectId, state }) => projectId === push.project.id && state === 'opened',
  )
  const isTarget = open.some(({ targetBranch }) => targetBranch === push.branch)
  const brought = isTarget ? await commitsOf(context, push) : new Set<string>()
  for (const mergeRequest of open) {
    if (mergeRequest.state !== 'opened') continue
    if (mergeRequest.targetBranch === push.branch) await followTarget(context, mergeRequest, push, brought)
    if (mergeRequest.state === 'opened' && mergeRequest.sourceBranch === push.branch) {
      await followSource(context, push.project, mergeRequest, push.userId)
    }
  }
}
