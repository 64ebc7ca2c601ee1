/**
 * Whether a commit changes exactly what was inspected, told from what GitLab holds afterwards and not from what was sent: in
 * every directory on the way to a touched path, before and after, each entry is as expected when it was touched, and the same
 * when it was not. Git names a directory by all that is in it, so an untouched one that is the same holds no surprise below.
 * A complete answer at any size, which a comparison that GitLab may cut short is not. Decision 0069.
 */
import type { CallOptions, GitLab, GitLabTreeEntry } from '../../../gitlab/port.ts'
import { WorkQueueError } from '../../../lib/errors.ts'
import type { Expectation } from '../file-plan.ts'
import { parentsOf } from '../inspection/file-rules.ts'
import { openTree, readTargetTree } from '../target-tree.ts'
import type { PlanOnTree } from './plan-on-tree.ts'

export interface CommitToVerify {
  readonly sha: string
  readonly parentShas: readonly string[]
}

/**
 * `plan`: of what was inspected, on the tree that it was made on; its commit must be the one parent. What is read of the new
 * commit is read anew at each call.
 * @throws WorkQueueError `commit_not_visible`, transient: a part of GitLab does not know the commit yet.
 */
export async function holdsExactly(
  gitlab: Pick<GitLab, 'listTree' | 'getCommit'>,
  projectId: number,
  { sha, parentShas }: CommitToVerify,
  { expected, tree: base }: Pick<PlanOnTree, 'expected' | 'tree'>,
  call: CallOptions,
): Promise<boolean> {
  if (parentShas.length !== 1 || parentShas[0] !== base.sha) return false
  const tree = openTree(gitlab, projectId, sha, call)
  // Of a commit that GitLab does not know it says the same as of an empty one.
  if ((await tree.list('')).size === 0 && (await gitlab.getCommit(projectId, sha, call)) === null) {
    throw new WorkQueueError('commit_not_visible', `GitLab does not show the commit ${sha} yet.`, {
      failure: 'transient',
    })
  }
  const { entries } = await readTargetTree(tree, [...expected.keys()])
  for (const [path, wanted] of expected) {
    if (!isAsExpected(wanted, entries.get(path) ?? null)) return false
  }
  const directories = new Set(['', ...[...expected.keys()].flatMap(parentsOf)])
  for (const directory of directories) {
    const [before, after] = [await base.list(directory), await tree.list(directory)]
    for (const path of new Set([...before.keys(), ...after.keys()])) {
      const [was, is] = [before.get(path), after.get(path)]
      // What lies in a directory on the way is compared when that directory's turn comes; one that is empty now is gone.
      const isAsBefore = directories.has(path) ? isDirectory(was) && isDirectory(is) : isSame(was, is)
      if (!isAsBefore && !expected.has(path)) return false
    }
  }
  return true
}

function isDirectory(entry: GitLabTreeEntry | undefined): boolean {
  return entry === undefined || entry.type === 'tree'
}

function isAsExpected(wanted: Expectation, is: GitLabTreeEntry | null): boolean {
  if (wanted === null || is === null) return wanted === null && is === null
  return is.type === 'blob' && is.mode === wanted.mode && wanted.blobIds.includes(is.id)
}

function isSame(was: GitLabTreeEntry | undefined, is: GitLabTreeEntry | undefined): boolean {
  return was !== undefined && is !== undefined && was.id === is.id && was.mode === is.mode && was.type === is.type
}
