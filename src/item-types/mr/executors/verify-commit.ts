/**
 * Whether a commit changes exactly what was inspected, told from what GitLab holds afterwards and not from what was sent: in
 * every directory on the way to a touched path, before and after, each entry is as expected when it was touched, and the same
 * when it was not. Git names a directory by all that is in it, so an untouched one that is the same holds no surprise below.
 * A complete answer at any size, which a comparison that GitLab may cut short is not. Decision 0069.
 */
import type { CallOptions, GitLab, GitLabTreeEntry } from '../../../gitlab/port.ts'
import { WorkQueueError } from '../../../lib/errors.ts'
import type { Expectation, FilePlan } from '../file-plan.ts'
import { parentsOf } from '../inspection/file-rules.ts'

export interface CommitToVerify {
  readonly sha: string
  readonly parentShas: readonly string[]
}

type Reader = Pick<GitLab, 'listTree' | 'getCommit'>
type Listing = ReadonlyMap<string, GitLabTreeEntry>
type List = (ref: string, directory: string) => Promise<Listing>

/**
 * `base`: the commit that the plan was made on; the commit must have it as its one parent.
 * @throws WorkQueueError `commit_not_visible`, transient: a part of GitLab does not know the commit yet.
 */
export async function holdsExactly(
  gitlab: Reader,
  projectId: number,
  { sha, parentShas }: CommitToVerify,
  base: string,
  { expected }: Pick<FilePlan, 'expected'>,
  call: CallOptions,
): Promise<boolean> {
  if (parentShas.length !== 1 || parentShas[0] !== base) return false
  const list = listOnce(gitlab, projectId, call)
  const directories = new Set(['', ...[...expected.keys()].flatMap(parentsOf)])
  for (const directory of directories) {
    const [before, after] = await Promise.all([list(base, directory), list(sha, directory)])
    // Of a commit that GitLab does not know it says the same as of an empty one.
    if (directory === '' && after.size === 0 && (await gitlab.getCommit(projectId, sha, call)) === null) {
      throw new WorkQueueError('commit_not_visible', `GitLab does not show the commit ${sha} yet.`, {
        failure: 'transient',
      })
    }
    for (const path of new Set([...before.keys(), ...after.keys()])) {
      const [was, is] = [before.get(path), after.get(path)]
      // What lies in a directory on the way is compared when that directory's turn comes; one that is empty now is gone.
      const isAsBefore = directories.has(path) ? isDirectory(was) && isDirectory(is) : isSame(was, is)
      if (!isAsBefore && !expected.has(path)) return false
    }
  }
  for (const [path, wanted] of expected) {
    const entries = await list(sha, parentsOf(path).at(-1) ?? '')
    if (!isAsExpected(wanted, entries.get(path))) return false
  }
  return true
}

function listOnce(gitlab: Reader, projectId: number, call: CallOptions): List {
  const known = new Map<string, Promise<Listing>>()
  return (ref, directory) => {
    const key = `${ref}:${directory}`
    const there = known.get(key)
    if (there !== undefined) return there
    const asked = gitlab
      .listTree(projectId, directory, ref, call)
      .then((entries) => new Map(entries.map((entry) => [entry.path, entry])))
    known.set(key, asked)
    return asked
  }
}

function isDirectory(entry: GitLabTreeEntry | undefined): boolean {
  return entry === undefined || entry.type === 'tree'
}

function isAsExpected(wanted: Expectation, is: GitLabTreeEntry | undefined): boolean {
  if (wanted === null || is === undefined) return wanted === null && is === undefined
  return is.type === 'blob' && is.mode === wanted.mode && wanted.blobIds.includes(is.id)
}

function isSame(was: GitLabTreeEntry | undefined, is: GitLabTreeEntry | undefined): boolean {
  return was !== undefined && is !== undefined && was.id === is.id && was.mode === is.mode && was.type === is.type
}
