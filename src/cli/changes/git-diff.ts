/**
 * The difference between two trees of a repository, as Git sees it: one entry a path, renames paired. Thresholds are given,
 * so that the same two trees give the same answer whatever the configuration says: another answer would be another
 * submission.
 */
import { type GitOptions, git, splitNul } from './git.ts'

/** A file in a tree; null = there is none. */
export type TreeFile = { readonly mode: string; readonly id: string } | null

export interface DiffEntry {
  /** After it; of a removed file, before it. */
  readonly name: Buffer
  readonly previousName: Buffer | null
  readonly before: TreeFile
  readonly after: TreeFile
}

export const SYMLINK = '120000'
export const SUBMODULE = '160000'
export const EXECUTABLE = '100755'

const WITH_RENAMES = ['-M50%', '-l1000']

export async function diffTrees(
  before: string,
  after: string,
  { renames, env = {} }: { readonly renames: boolean } & Pick<GitOptions, 'env'>,
): Promise<readonly DiffEntry[]> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-abbrev', '--ignore-submodules=none']
  return parseRaw(await git([...args, ...(renames ? WITH_RENAMES : ['--no-renames']), before, after], { env }))
}

/** `:100644 100755 ID ID M`, NUL, path, NUL; of renames two paths. */
function parseRaw(bytes: Buffer): readonly DiffEntry[] {
  const parts = splitNul(bytes).values()
  const next = (): Buffer => {
    const { value, done } = parts.next()
    if (done === true) throw new Error('git diff-tree ended in the middle of an entry')
    return value
  }
  const entries: DiffEntry[] = []
  for (const head of parts) {
    const [modeBefore = '', modeAfter = '', idBefore = '', idAfter = '', status = ''] = head
      .toString('latin1')
      .slice(1)
      .split(' ')
    const previousName = status.startsWith('R') ? next() : null
    entries.push({
      name: next(),
      previousName,
      before: fileOf(modeBefore, idBefore),
      after: fileOf(modeAfter, idAfter),
    })
  }
  return entries
}

function fileOf(mode: string, id: string): TreeFile {
  return mode === '000000' ? null : { mode, id }
}

export function isSameFile(left: TreeFile, right: TreeFile): boolean {
  return left?.id === right?.id && left?.mode === right?.mode
}
