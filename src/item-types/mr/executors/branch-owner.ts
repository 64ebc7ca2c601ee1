/**
 * Whose the head of the source branch is. The service's own commits are those it remembers, and those that carry its mark and
 * name its own user as committer: a commit whose answer was lost, one of an earlier generation, one of an item that was
 * removed since. The mark alone proves nothing, because a person who amends the service's commit keeps its message.
 */
import type { GitLabBranch } from '../../../gitlab/port.ts'
import { isOwnCommit } from '../store.ts'
import type { Action } from './context.ts'
import type { Target } from './project.ts'
import { type Mark, readMark } from './trailers.ts'

/** `mark`: of a commit of this very item that it does not remember. */
export type Owner = { readonly is: 'nobody' | 'stranger' } | { readonly is: 'service'; readonly mark: Mark | null }

export async function findOwner(
  { services, draft, context }: Action,
  { project, branch: target }: Target,
  branch: GitLabBranch | null,
): Promise<Owner> {
  if (branch === null) return { is: 'nobody' }
  if (branch.sha === draft.detail.writtenSha) return { is: 'service', mark: null }
  if (await isOwnCommit(services.db, project.id, branch.name, branch.sha)) return { is: 'service', mark: null }
  const mark = readMark(branch.headMessage)
  if (mark === null) return { is: 'stranger' }
  const { commitEmail } = await services.gitlab.getOwnUser(context)
  if (commitEmail === null || commitEmail !== branch.committerEmail) return { is: 'stranger' }
  if (mark.itemId === draft.item.id) return { is: 'service', mark }
  // Of an item that nobody remembers. Whatever lies below it must be in the target, because the service never builds on
  // anything else; and who pushes with Git may write any address into a commit.
  if (branch.parentShas.length !== 1) return { is: 'stranger' }
  const { commitCount } = await services.gitlab.compare(project.id, target.sha, branch.sha, false, context)
  return commitCount > 1 ? { is: 'stranger' } : { is: 'service', mark: null }
}
