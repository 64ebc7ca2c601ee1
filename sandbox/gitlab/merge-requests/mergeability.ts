/**
 * The git check behind `merge_status`: can the head be merged into the target without conflict? It runs a moment after a
 * read asked for it, so the answer that started it still says `checking`. A push to either side sets it back.
 */
import type { SandboxContext } from '../context.ts'
import { mergeTree } from '../git/merge.ts'
import { branchHead, isAncestor } from '../git/repository.ts'
import type { MergeRequest, Project } from '../state.ts'
import { isSettled } from './status.ts'

const CHECK_DELAY_MS = 200

/** Starts the check if its last result no longer stands. */
export function requestCheck(context: SandboxContext, project: Project, mergeRequest: MergeRequest): void {
  if (mergeRequest.state !== 'opened' || mergeRequest.preparedAt === null) return
  if (mergeRequest.mergeStatus !== 'unchecked' && mergeRequest.mergeStatus !== 'cannot_be_merged_recheck') return
  mergeRequest.mergeStatus = 'checking'
  context.save()
  context.later(CHECK_DELAY_MS, 'check mergeability', async () => {
    if (mergeRequest.mergeStatus === 'checking') await checkNow(context, project, mergeRequest)
  })
}

/** Runs the check at once unless its result stands; afterwards the status is settled. */
export async function checkNow(context: SandboxContext, project: Project, mergeRequest: MergeRequest): Promise<void> {
  const repo = context.git(project)
  for (;;) {
    if (isSettled(mergeRequest) || mergeRequest.state !== 'opened') return
    const { sha, targetBranch } = mergeRequest
    const target = await branchHead(repo, targetBranch)
    const source = await branchHead(repo, mergeRequest.sourceBranch)
    // A request without commits or without one of its branches counts as broken, which reads as not mergeable.
    const whole = target !== null && source !== null && !(await isAncestor(repo, sha, target))
    const mergeable = whole && (await mergeTree(repo, target, sha)) !== null
    // Either side may have moved while git was at work: then this result is about the past.
    if (mergeRequest.sha !== sha || mergeRequest.targetBranch !== targetBranch) continue
    if ((await branchHead(repo, targetBranch)) !== target) continue
    mergeRequest.mergeStatus = mergeable ? 'can_be_merged' : 'cannot_be_merged'
    context.save()
    return
  }
}

/** Sets the result back after a push to source or target. */
export function resetCheck(mergeRequest: MergeRequest): void {
  const conflicting = ['cannot_be_merged', 'cannot_be_merged_recheck'].includes(mergeRequest.mergeStatus)
  mergeRequest.mergeStatus = conflicting ? 'cannot_be_merged_recheck' : 'unchecked'
}
