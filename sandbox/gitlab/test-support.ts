/**
 * What the sandbox's own tests start from: a sandbox without a server in a directory of its own, on a clock that stands
 * still, with one maintainer and one project; and pushes made with git's plumbing.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MAINTAINER } from './auth.ts'
import { ManualClock } from './context.ts'
import { branchHead, ZERO_SHA } from './git/repository.ts'
import { editTree } from './git/tree-editor.ts'
import { moveBranch, writeCommit } from './git/write.ts'
import { createMergeRequest } from './merge-requests/create.ts'
import { createProject, leafOf, type NewProject } from './projects.ts'
import { recordPush } from './pushes.ts'
import { createSandboxGitLab, type OpenSandbox } from './sandbox.ts'
import type { MergeRequest, Project, User } from './state.ts'
import { createUser } from './users.ts'

export interface TestSandbox {
  readonly context: OpenSandbox
  readonly clock: ManualClock
  readonly project: Project
  readonly user: User
  /** One commit on top of `branch`, which is made from the default branch if need be; answers its id. */
  push(branch: string, files: Readonly<Record<string, string>>, message?: string): Promise<string>
  openMergeRequest(sourceBranch: string): Promise<MergeRequest>
  /** Ends the sandbox and removes its files. */
  remove(): Promise<void>
}

export const TEST_TOKEN = 'sandbox-test-token'

export async function openTestSandbox(given: Partial<NewProject> = {}): Promise<TestSandbox> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sandbox-gitlab-'))
  const clock = new ManualClock()
  const context = createSandboxGitLab({ dataDir, clock })
  const user = createUser(context, { username: 'mara', name: 'Mara Maintainer', token: TEST_TOKEN })
  const members = { [user.id]: MAINTAINER }
  const project = await createProject(context, {
    path: 'group/sub/widgets',
    files: { 'README.md': '# Widgets\n' },
    members,
    ...given,
  })

  async function push(branch: string, files: Readonly<Record<string, string>>, message = `Change ${branch}`) {
    const git = context.git(project)
    const before = await branchHead(git, branch)
    const parent = before ?? (await branchHead(git, project.defaultBranch))
    const tree = editTree(git, parent)
    for (const [path, content] of Object.entries(files)) await tree.put(path, leafOf(content))
    const identity = { name: user.name, email: user.email }
    const after = await writeCommit(git, {
      tree: await tree.write(),
      parents: parent === null ? [] : [parent],
      message,
      author: identity,
      committer: identity,
      date: clock.now(),
    })
    await moveBranch(git, branch, before ?? ZERO_SHA, after)
    recordPush(context, { project, branch, before: before ?? ZERO_SHA, after, userId: user.id })
    return after
  }

  return {
    context,
    clock,
    project,
    user,
    push,
    openMergeRequest: (sourceBranch) =>
      createMergeRequest(context, project, user, {
        sourceBranch,
        targetBranch: project.defaultBranch,
        title: `Merge ${sourceBranch}`,
      }),
    async remove() {
      await context.close()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
