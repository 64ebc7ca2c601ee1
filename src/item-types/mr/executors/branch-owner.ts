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

export interface Owner {
  readonly is: 'nobody' | 'stranger' | 'service'
  /**
   * Of a commit of this very item that it does not remember. A stranger's may be the service's all the same, made with another
   * user's token, as each new access token of a project has: what it holds decides.
   */
  readonly mark: Mark | null
}

const STRANGER: Owner = { is: 'stranger', mark: null }

export async function findOwner(
  { services, draft, context }: Action,
  { project, branch: target }: Target,
  branch: GitLabBranch | null,
): Promise<Owner> {
  if (branch === null) return { is: 'nobody', mark: null }
  if (branch.sha === draft.detail.writtenSha) return { is: 'service', mark: null }
  if (await isOwnCommit(services.db, project.id, branch.name, branch.sha)) return { is: 'service', mark: null }
  const mark = readMark(branch.headMessage)
  if (mark === null) return STRANGER
  const { commitEmail } = await services.gitlab.getOwnUser(context)
  const isOwnUser = commitEmail !== null && commitEmail === branch.committerEmail
  if (mark.itemId === draft.item.id) return { is: isOwnUser ? 'service' : 'stranger', mark }
  if (!isOwnUser) return STRANGER
  // Of an item that nobody remembers. Whatever lies below it must be in the target, because the service never builds on
  // anything else; and who pushes with Git may write any address into a commit.
  if (branch.parentShas.length !== 1) return STRANGER
  const { commitCount } = await services.gitlab.compare(project.id, target.sha, branch.sha, false, context)
  return commitCount > 1 ? STRANGER : { is: 'service', mark: null }
}
