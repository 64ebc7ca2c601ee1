/**
 * `--from-dir DIR`: every file in a directory becomes an upsert of the same path, in the target's root or in a directory of
 * it. `.git` is left out, and nothing else: what is generated is often ignored by the repository it is generated in, so a
 * .gitignore decides nothing here.
 */
import type { Dirent } from 'node:fs'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf, WorkQueueError } from '../../lib/errors.ts'
import { type FileAction, type FileChange, pathOf, quoted, toFileAction, unsupported } from './file-change.ts'

export interface DirectoryChangesOptions {
  /** Where in the target the directory's files go; absent = the root. */
  readonly into: string | undefined
  /** Sees the changes before any content is read; throws when they are too many. */
  readonly measured: (what: string, changes: readonly FileChange[]) => void
}

/** @throws WorkQueueError `input_unreadable`, `input_unsupported`. */
export async function readDirectoryChanges(
  directory: string,
  { into, measured }: DirectoryChangesOptions,
): Promise<readonly FileAction[]> {
  const prefix = into === undefined ? '' : `${into.replace(/\/$/, '')}/`
  const faults: string[] = []
  const changes: FileChange[] = []
  for await (const path of filesIn(directory, '', faults)) changes.push(await changeOf(directory, path, prefix))
  if (faults.length > 0) throw unsupported(faults)
  if (changes.length === 0) throw new WorkQueueError('input_unreadable', `${quoted(directory)} holds no files.`)
  measured(directory, changes)
  const fileActions: FileAction[] = []
  for (const change of changes) {
    const source = 'source' in change ? change.source : ''
    const content = await readFile(join(directory, source)).catch(unreadable)
    fileActions.push(toFileAction(change, new Map([[source, content]])))
  }
  return fileActions
}

/** Their paths from `directory`, with `/`, in a fixed order. */
async function* filesIn(directory: string, parent: string, faults: string[]): AsyncGenerator<string> {
  const entries = await readdir(join(directory, parent), { withFileTypes: true, encoding: 'buffer' }).catch(unreadable)
  for (const entry of entries.toSorted((left, right) => Buffer.compare(left.name, right.name))) {
    const { path: name, fault } = pathOf(entry.name)
    const path = `${parent}${name}`
    if (name === '.git') continue
    if (fault !== null) faults.push(fault)
    else if (entry.isDirectory()) yield* filesIn(directory, `${path}/`, faults)
    else if (entry.isFile()) yield path
    else faults.push(`${quoted(path)} is ${kindOf(entry)}`)
  }
}

async function changeOf(directory: string, path: string, prefix: string): Promise<FileChange> {
  const { size, mode } = await lstat(join(directory, path)).catch(unreadable)
  // Windows knows no executable files; there, and only there, the target's modes are left alone.
  const modeOf = process.platform === 'win32' ? {} : { execute_filemode: (mode & 0o100) !== 0 }
  return { action: 'upsert', file_path: `${prefix}${path}`, bytes: size, source: path, ...modeOf }
}

function kindOf(entry: Dirent<Buffer>): string {
  return entry.isSymbolicLink() ? 'a symbolic link' : 'no ordinary file'
}

function unreadable(error: unknown): never {
  throw new WorkQueueError('input_unreadable', `The directory cannot be read: ${messageOf(error)}.`, { cause: error })
}
