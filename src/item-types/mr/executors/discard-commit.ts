/**
 * Takes a commit away that holds something else than was inspected: its branch goes, which closes the merge request, and the
 * item ends. Nothing of it may stay where somebody could merge it.
 */
import { GitLabError } from '../../../gitlab/errors.ts'
import { type Action, refuse } from './context.ts'

export async function discard({ services, draft, context }: Action, projectId: number, sha: string): Promise<never> {
  const { sourceBranch } = draft.detail
  context.log.error(
    { work_item_id: draft.item.id, branch: sourceBranch, sha },
    'GitLab holds something else than was inspected; the branch is deleted',
  )
  const isGone = await deleteBranch()
  const outcome = isGone ? 'the branch was deleted' : 'but GitLab does not let the service delete the branch'
  refuse(
    'tree_mismatch',
    `The commit ${sha} holds something else than was inspected; ${outcome}. An operator should find out why before it is retried.`,
  )

  async function deleteBranch(): Promise<boolean> {
    const branch = await services.gitlab.getBranch(projectId, sourceBranch, context)
    // Somebody else's push has taken its place.
    if (branch?.sha !== sha) return true
    try {
      await services.gitlab.deleteBranch(projectId, sourceBranch, context)
      return true
    } catch (error) {
      // Of any other error it is not known whether it is gone: the next run finds the commit, and does not take it for written.
      if (error instanceof GitLabError && error.failure === 'permanent') return false
      throw error
    }
  }
}
