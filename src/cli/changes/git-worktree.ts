/**
 * The working tree as `git add --all` and a commit would store it: a tree like any other. It goes into an index and a store
 * of objects that are thrown away, so that the repository and what its owner has staged stay as they are.
 */
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { WorkQueueError } from '../../lib/errors.ts'
import { git, gitLine, splitNul } from './git.ts'

export interface Snapshot {
  /** Of a tree. */
  readonly id: string
  /** With which git finds it. */
  readonly env: Readonly<Record<string, string>>
  remove(): Promise<void>
}

/** @throws WorkQueueError `input_unreadable`. */
export async function snapshotWorktree(): Promise<Snapshot> {
  const unmerged = splitNul(await git(['ls-files', '--unmerged', '-z']))
  if (unmerged.length > 0) {
    throw new WorkQueueError('input_unreadable', 'The working tree is in the middle of a merge; finish it first.')
  }
  const [index, objects] = [await gitPath('index'), await gitPath('objects')]
  const directory = await mkdtemp(join(tmpdir(), 'wq-worktree-'))
  const remove = () => rm(directory, { recursive: true, force: true })
  const env = {
    GIT_INDEX_FILE: join(directory, 'index'),
    GIT_OBJECT_DIRECTORY: directory,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: [objects, process.env['GIT_ALTERNATE_OBJECT_DIRECTORIES']]
      .filter(Boolean)
      .join(delimiter),
  }
  try {
    // A repository where nothing was ever added has no index.
    await copyFile(index, env.GIT_INDEX_FILE).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    await git(['add', '--all'], { env })
    return { id: await gitLine(['write-tree'], { env }), env, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function gitPath(name: string): Promise<string> {
  return resolve(await gitLine(['rev-parse', '--git-path', name]))
}
