/**
 * What a start owes to the merge requests of the last run: timers die with a process, so every request that waited for one
 * (preparation, refresh after a push, a check, a rebase, a merge, the removal of a merged branch) is brought to where the
 * timer would have led.
 */
import type { SandboxContext } from '../context.ts'
import { branchHead, isAncestor } from '../git/repository.ts'
import type { MergeRequest, Project } from '../state.ts'
import { markMerged } from './changes.ts'
import { prepareMergeRequest } from './create.ts'
import { removeSourceBranchLater, tryAutoMerge } from './merge.ts'
import { resetCheck } from './mergeability.ts'
import { finishRebase } from './rebase.ts'
import { followSource, mergingCommit } from './refresh.ts'

async function settle(context: SandboxContext, project: Project, mergeRequest: MergeRequest): Promise<void> {
  const repo = context.git(project)
  const userId = mergeRequest.mergeUserId ?? mergeRequest.authorId
  const target = await branchHead(repo, mergeRequest.targetBranch)
  const started = mergeRequest.diffRefs?.startSha
  // Only a head that was not in the target when the request was made can have been merged since.
  const wasThere = started !== undefined && (await isAncestor(repo, mergeRequest.sha, started))
  if (target !== null && started !== undefined && !wasThere && (await isAncestor(repo, mergeRequest.sha, target))) {
    mergeRequest.mergeCommitSha = await mergingCommit(context, project, mergeRequest.sha, target)
    markMerged(context, mergeRequest, userId)
    return
  }
  if (mergeRequest.state === 'locked') mergeRequest.state = 'opened'
  await followSource(context, project, mergeRequest, userId)
  if (mergeRequest.state !== 'opened') return
  await prepareMergeRequest(context, project, mergeRequest)
  resetCheck(mergeRequest)
  if (mergeRequest.rebaseInProgress) await finishRebase(context, project, mergeRequest, userId)
  await tryAutoMerge(context, project, mergeRequest)
  context.save()
}

export function settleMergeRequests(context: SandboxContext): void {
  for (const mergeRequest of context.state.mergeRequests) {
    const project = context.findProject(mergeRequest.projectId)
    if (!project || mergeRequest.state === 'closed') continue
    if (mergeRequest.state === 'merged') {
      removeSourceBranchLater(context, project, mergeRequest, mergeRequest.mergeUserId ?? mergeRequest.authorId)
      continue
    }
    context.later(0, 'settle merge request', () =>
      context.exclusive(project, () => settle(context, project, mergeRequest)),
    )
  }
}
