/** Body of `Push Hook`. */
import type { SandboxContext } from '../context.ts'
import { type Commit, countCommits, listCommits, ZERO_SHA } from '../git/repository.ts'
import { isProtected } from '../protection.ts'
import type { Push } from '../state.ts'
import { hookCommit, hookProject, hookRepositoryLong } from './parts.ts'

const MAX_COMMITS = 20

export async function pushBody(context: SandboxContext, push: Push): Promise<object> {
  const { project, branch, before, after, userId } = push
  const user = context.findUser(userId)
  const { commits, total } = await newCommits(context, push)
  return {
    object_kind: 'push',
    event_name: 'push',
    before,
    after,
    ref: `refs/heads/${branch}`,
    ref_protected: isProtected(project, branch),
    checkout_sha: after === ZERO_SHA ? null : after,
    message: null,
    user_id: userId,
    user_name: user?.name ?? '',
    user_username: user?.username ?? '',
    user_email: '',
    user_avatar: null,
    project_id: project.id,
    project: hookProject(context, project),
    commits: await Promise.all(
      commits.map(async (commit) => ({
        ...hookCommit(context, project, commit),
        ...(await changedPaths(context, push, commit)),
      })),
    ),
    total_commits_count: total,
    push_options: {},
    repository: hookRepositoryLong(context, project),
  }
}

/** The newest commits that came with the push, oldest first; for a new branch those that the default branch has not. */
async function newCommits(context: SandboxContext, push: Push): Promise<{ commits: readonly Commit[]; total: number }> {
  const { project, branch, before, after } = push
  if (after === ZERO_SHA) return { commits: [], total: 0 }
  const repository = context.git(project)
  const known = before === ZERO_SHA && branch !== project.defaultBranch ? `refs/heads/${project.defaultBranch}` : before
  const range = known === ZERO_SHA ? after : `${known}..${after}`
  const commits = await listCommits(repository, range, { limit: MAX_COMMITS })
  return { commits: commits.toReversed(), total: await countCommits(repository, range) }
}

async function changedPaths(context: SandboxContext, { project }: Push, { sha }: Commit) {
  const args = ['log', '-1', '-m', '--first-parent', '--no-renames', '--name-status', '-z', '--format=', sha]
  const fields = (await context.git(project).text(args)).split('\0').filter((field) => field !== '')
  const changed = { added: [] as string[], modified: [] as string[], removed: [] as string[] }
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [status = '', path = ''] = fields.slice(at, at + 2)
    if (status.startsWith('A')) changed.added.push(path)
    else if (status.startsWith('D')) changed.removed.push(path)
    else changed.modified.push(path)
  }
  return changed
}
