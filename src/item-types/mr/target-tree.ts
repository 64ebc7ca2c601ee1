/**
 * What a commit holds at the paths that a submission touches. GitLab's commit call would follow a path through a directory,
 * replace a directory by a file or write into the target of a symlink; so the service looks first.
 */
import type { CallOptions, GitLab, GitLabTreeEntry } from '../../gitlab/port.ts'
import { parentsOf } from './inspection/file-rules.ts'

/** The entry at each path that was asked for; null where there is none. */
export type TreeEntries = ReadonlyMap<string, GitLabTreeEntry | null>

export interface TargetTree {
  readonly entries: TreeEntries
  /** Paths that run through something that is no directory, with what stands in the way. */
  readonly obstructed: ReadonlyMap<string, GitLabTreeEntry>
}

/** The tree of one commit; each directory is asked for once, and one that the directory above does not show never. */
export interface Tree {
  readonly sha: string
  /** By path; empty where there is no such directory. `''` is the root. */
  list(directory: string): Promise<ReadonlyMap<string, GitLabTreeEntry>>
}

export function openTree(gitlab: Pick<GitLab, 'listTree'>, projectId: number, sha: string, call: CallOptions): Tree {
  const listings = new Map<string, Promise<ReadonlyMap<string, GitLabTreeEntry>>>()
  const list: Tree['list'] = (directory) => {
    const known = listings.get(directory) ?? read(directory)
    listings.set(directory, known)
    return known
  }
  return { sha, list }

  async function read(directory: string): Promise<ReadonlyMap<string, GitLabTreeEntry>> {
    if (directory !== '' && (await list(above(directory))).get(directory)?.type !== 'tree') return new Map()
    const entries = await gitlab.listTree(projectId, directory, sha, call)
    return new Map(entries.map((entry) => [entry.path, entry]))
  }
}

export async function readTargetTree(tree: Tree, paths: readonly string[]): Promise<TargetTree> {
  const entries = new Map<string, GitLabTreeEntry | null>()
  const obstructed = new Map<string, GitLabTreeEntry>()
  for (const path of paths) {
    entries.set(path, (await tree.list(above(path))).get(path) ?? null)
    for (const directory of parentsOf(path)) {
      const entry = (await tree.list(above(directory))).get(directory)
      if (entry !== undefined && entry.type !== 'tree') obstructed.set(path, entry)
    }
  }
  return { entries, obstructed }
}

/** `a/b/c` → `a/b`; `a` → `''`. */
function above(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}
