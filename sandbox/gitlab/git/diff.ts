/**
 * Comparing two trees of a repository: which files differ and how (renames, modes), the patch of each, and line counts.
 */
import type { Repository } from './repository.ts'

/** The tree without entries; git knows it in every repository. */
export const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

export interface FileDiff {
  readonly oldPath: string
  readonly newPath: string
  readonly oldMode: string
  readonly newMode: string
  readonly newFile: boolean
  readonly deletedFile: boolean
  readonly renamedFile: boolean
  /** The hunks without git's header lines; `Binary files … differ` for binary ones. */
  readonly patch: string
}

interface RawEntry {
  readonly status: string
  readonly oldMode: string
  readonly newMode: string
  readonly oldPath: string
  readonly newPath: string
}

/** Reads the raw entries at the start of `output`; the patch that may follow them begins after one more NUL. */
function parseRaw(output: Buffer): { entries: RawEntry[]; rest: Buffer } {
  const entries: RawEntry[] = []
  let at = 0
  const next = () => {
    const end = output.indexOf(0, at)
    const field = output.toString('utf8', at, end)
    at = end + 1
    return field
  }
  while (output[at] === 58) {
    const [oldMode = '', newMode = '', , , status = ''] = next().slice(1).split(' ')
    const oldPath = next()
    const newPath = status.startsWith('R') || status.startsWith('C') ? next() : oldPath
    entries.push({ status: status[0] ?? '', oldMode, newMode, oldPath, newPath })
  }
  return { entries, rest: output.subarray(at + 1) }
}

/** The part of one file's patch that GitLab shows: from the first hunk, or the remark about binary files. */
function bodyOf(section: string): string {
  const start = /^(?:@@ |Binary files )/m.exec(section)
  return start ? section.slice(start.index) : ''
}

/** What changes from tree-ish `from` to tree-ish `to`, in git's order. */
export async function diffTrees(repo: Repository, from: string, to: string): Promise<FileDiff[]> {
  const args = ['diff-tree', '-r', '-z', '-M', '--raw', '-p', '--full-index', from, to]
  const { entries, rest } = parseRaw((await repo.run(args)).stdout)
  const sections = rest
    .toString('utf8')
    .split(/^(?=diff --git )/m)
    .filter((section) => section.startsWith('diff --git '))
  let next = 0
  return entries.map((entry) => {
    // A change of type (file to symlink) is one entry but two patches: one that deletes, one that creates.
    const count = entry.status === 'T' ? 2 : 1
    const own = sections.slice(next, next + count)
    next += count
    return {
      oldPath: entry.oldPath,
      newPath: entry.newPath,
      oldMode: entry.oldMode,
      newMode: entry.newMode,
      newFile: entry.status === 'A',
      deletedFile: entry.status === 'D',
      renamedFile: entry.status === 'R',
      patch: own.map(bodyOf).join(''),
    }
  })
}

/** How many files differ, a rename counted once. */
export async function countChanges(repo: Repository, from: string, to: string): Promise<number> {
  return parseRaw((await repo.run(['diff-tree', '-r', '-z', '-M', '--raw', from, to])).stdout).entries.length
}

/** Added and removed lines from one tree to another; binary files count as none. */
export async function lineStats(repo: Repository, from: string, to: string) {
  const text = await repo.text(['diff-tree', '-r', '--numstat', '-M', from, to])
  let additions = 0
  let deletions = 0
  for (const line of text.split('\n')) {
    const [added, deleted] = line.split('\t')
    additions += Number(added) || 0
    deletions += Number(deleted) || 0
  }
  return { additions, deletions, total: additions + deletions }
}
