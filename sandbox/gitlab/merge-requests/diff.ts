/**
 * The diff version of a merge request: from where to where it reads, how many files it changes, and the reference under
 * which its head stays reachable when the source branch is gone.
 */
import type { SandboxContext } from '../context.ts'
import { countChanges } from '../git/diff.ts'
import { branchHead, mergeBase } from '../git/repository.ts'
import type { MergeRequest, Project } from '../state.ts'

const MANY = 1000

/** Works the diff out anew from the branches as they are. */
export async function updateDiff(context: SandboxContext, project: Project, mergeRequest: MergeRequest): Promise<void> {
  const repo = context.git(project)
  await repo.run(['update-ref', `refs/merge-requests/${mergeRequest.iid}/head`, mergeRequest.sha])
  const target = await branchHead(repo, mergeRequest.targetBranch)
  if (target === null) return
  const base = (await mergeBase(repo, target, mergeRequest.sha)) ?? target
  mergeRequest.diffRefs = { baseSha: base, startSha: target, headSha: mergeRequest.sha }
  if (base === mergeRequest.sha) {
    mergeRequest.changesCount = null
    return
  }
  const count = await countChanges(repo, base, mergeRequest.sha)
  mergeRequest.changesCount = count > MANY ? `${MANY}+` : String(count)
}
