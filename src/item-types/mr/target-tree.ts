/**
 * What the target branch holds at the paths that a submission touches. GitLab's commit call would follow a path through a
 * directory, replace a directory by a file or write into the target of a symlink; so the service looks first.
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

/** One listing for each directory involved, each asked for once. `ref` should be a commit id: the tree must not move. */
export async function readTargetTree(
  gitlab: Pick<GitLab, 'listTree'>,
  projectId: number,
  ref: string,
  paths: readonly string[],
  call: CallOptions,
): Promise<TargetTree> {
  const listings = new Map<string, ReadonlyMap<string, GitLabTreeEntry>>()
  const list = async (directory: string) => {
    const known = listings.get(directory)
    if (known !== undefined) return known
    const found = await gitlab.listTree(projectId, directory, ref, call)
    const listing = new Map(found.map((entry) => [entry.path, entry]))
    listings.set(directory, listing)
    return listing
  }

  const entries = new Map<string, GitLabTreeEntry | null>()
  const obstructed = new Map<string, GitLabTreeEntry>()
  for (const path of paths) {
    const directories = ['', ...parentsOf(path)]
    // Git keeps no empty directories: a directory that lists something exists, and so do all above it.
    const listing = await list(directories.at(-1) ?? '')
    entries.set(path, listing.get(path) ?? null)
    if (listing.size > 0) continue
    const obstacle = await findObstacle(directories, list)
    if (obstacle !== null) obstructed.set(path, obstacle)
  }
  return { entries, obstructed }
}

/** The innermost name on the way that exists and is no directory. */
async function findObstacle(
  directories: readonly string[],
  list: (directory: string) => Promise<ReadonlyMap<string, GitLabTreeEntry>>,
): Promise<GitLabTreeEntry | null> {
  for (let depth = directories.length - 1; depth > 0; depth -= 1) {
    const listing = await list(directories[depth - 1] ?? '')
    const entry = listing.get(directories[depth] ?? '')
    if (entry !== undefined) return entry.type === 'tree' ? null : entry
    if (listing.size > 0) return null
  }
  return null
}
