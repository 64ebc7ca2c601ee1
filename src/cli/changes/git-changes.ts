/**
 * `--from-git BASE..HEAD`: the changes that HEAD brings since it left BASE, as one submission writes them. The base is the
 * common ancestor, as in a merge request: against BASE itself, whatever BASE has gained since would be taken back. A file
 * that both have changed is refused for the same reason.
 */
import { WorkQueueError } from '../../lib/errors.ts'
import {
  asLines,
  type FileAction,
  type FileChange,
  fileAndDirectory,
  pathOf,
  quoted,
  toFileAction,
  unsupported,
} from './file-change.ts'
import { gitLine } from './git.ts'
import { blobContents, blobSizes } from './git-blobs.ts'
import { branchOf, currentBranch } from './git-branches.ts'
import { type DiffEntry, diffTrees, EXECUTABLE, isSameFile, SUBMODULE, SYMLINK, type TreeFile } from './git-diff.ts'
import { snapshotWorktree } from './git-worktree.ts'

export interface GitChanges {
  readonly fileActions: readonly FileAction[]
  /** The subject of the newest commit; null when none is part of the change. */
  readonly subject: string | null
  /** The branch that the change ends in; null when it ends in a commit of no branch. */
  readonly branch: string | null
}

export interface GitChangesOptions {
  /** The files as they are on disk, as if they had all been added and committed. */
  readonly worktree: boolean
  /** Sees the changes before any content is read; throws when they are too many. */
  readonly measured: (what: string, changes: readonly FileChange[]) => void
}

/** @throws WorkQueueError `bad_usage`, `git_unavailable`, `input_unreadable`, `input_unsupported`, `input_outdated`. */
export async function readGitChanges(range: string, { worktree, measured }: GitChangesOptions): Promise<GitChanges> {
  const [baseName, headName] = parseRange(range)
  if (worktree && headName !== 'HEAD') {
    throw new WorkQueueError('bad_usage', `--worktree takes the files on disk, not ${headName}: name the base alone.`)
  }
  const base = await commitOf(baseName)
  const head = await commitOf(headName)
  const ancestor = await commonAncestor({ baseName, headName, base, head })
  const tree = worktree ? await snapshotWorktree() : { id: head, env: {}, remove: async () => {} }
  try {
    const { env } = tree
    const entries = await diffTrees(ancestor, tree.id, { renames: true, env })
    const fresh = ancestor === base ? entries : withoutUpstream(entries, await upstreamOf(ancestor, base), baseName)
    const sizes = await blobSizes(contentIds(fresh), { env })
    const changes = toChanges(fresh, sizes)
    measured(`${baseName}..${worktree ? 'the working tree' : headName}`, changes)
    const contents = await blobContents([...new Set(changes.flatMap(sourceOf))], { env })
    const subject = ancestor === head ? null : await gitLine(['log', '-1', '--no-show-signature', '--format=%s', head])
    const branch = headName === 'HEAD' ? await currentBranch() : await branchOf(headName)
    return { fileActions: changes.map((change) => toFileAction(change, contents)), subject, branch }
  } finally {
    await tree.remove()
  }
}

function parseRange(range: string): readonly [string, string] {
  const [base = '', head = 'HEAD', ...rest] = range.split(/\.{2,3}/)
  if (base === '' || rest.length > 0 || [base, head].some((name) => name.startsWith('-'))) {
    throw new WorkQueueError(
      'bad_usage',
      `${quoted(range)} is no range of commits; write BASE or BASE..HEAD, such as main..HEAD.`,
    )
  }
  return [base, head === '' ? 'HEAD' : head]
}

async function commitOf(name: string): Promise<string> {
  const commit = await gitLine(['rev-parse', '--verify', '--quiet', `${name}^{commit}`], { allow: [1] })
  if (commit !== '') return commit
  throw new WorkQueueError(
    'input_unreadable',
    `There is no commit ${quoted(name)} in this repository.${await shallowHint()}`,
  )
}

interface Range {
  readonly baseName: string
  readonly headName: string
  readonly base: string
  readonly head: string
}

async function commonAncestor({ baseName, headName, base, head }: Range): Promise<string> {
  const ancestor = await gitLine(['merge-base', base, head], { allow: [1] })
  if (ancestor !== '') return ancestor
  throw new WorkQueueError(
    'input_unreadable',
    `${baseName} and ${headName} have no common ancestor in this repository.${await shallowHint()}`,
  )
}

async function shallowHint(): Promise<string> {
  const isShallow = (await gitLine(['rev-parse', '--is-shallow-repository'])) === 'true'
  return isShallow ? ' It is a shallow clone: fetch more of it (in GitLab CI, set GIT_DEPTH to 0).' : ''
}

type Upstream = ReadonlyMap<string, TreeFile>

/** What BASE has changed since the common ancestor, by path. */
async function upstreamOf(ancestor: string, base: string): Promise<Upstream> {
  const entries = await diffTrees(ancestor, base, { renames: false })
  return new Map(entries.map(({ name, after }) => [name.toString('latin1'), after]))
}

/** Leaves out what BASE has already. @throws WorkQueueError `input_outdated` where BASE has something else. */
function withoutUpstream(entries: readonly DiffEntry[], upstream: Upstream, baseName: string): readonly DiffEntry[] {
  const conflicts: string[] = []
  const isTouched = (name: Buffer) => upstream.has(name.toString('latin1'))
  const split = entries.flatMap((entry): DiffEntry[] => {
    const { previousName, name } = entry
    return previousName !== null && (isTouched(previousName) || isTouched(name)) ? asTwo(entry, previousName) : [entry]
  })
  const fresh = split.filter(({ name, after }) => {
    const theirs = upstream.get(name.toString('latin1'))
    if (theirs === undefined) return true
    if (!isSameFile(theirs, after)) conflicts.push(quoted(pathOf(name).path))
    return false
  })
  if (conflicts.length === 0) return fresh
  throw new WorkQueueError(
    'input_outdated',
    `${baseName} has changed these files as well, and the submission would take that back; rebase onto it first:${asLines(conflicts)}`,
  )
}

function asTwo({ name, before, after }: DiffEntry, previousName: Buffer): DiffEntry[] {
  return [
    { name: previousName, previousName: null, before, after: null },
    { name, previousName: null, before: null, after },
  ]
}

/** A move keeps the mode of its file, and no second action may name the path: with a new mode it is two files. */
function simplified(entry: DiffEntry): readonly DiffEntry[] {
  const { previousName, before, after } = entry
  return previousName === null || before?.mode === after?.mode ? [entry] : asTwo(entry, previousName)
}

function contentIds(entries: readonly DiffEntry[]): readonly string[] {
  const ids = entries.flatMap(({ after }) => (after === null || after.mode === SUBMODULE ? [] : [after.id]))
  return [...new Set(ids)]
}

function toChanges(entries: readonly DiffEntry[], sizes: ReadonlyMap<string, number>): readonly FileChange[] {
  const faults = entries.flatMap(faultOf)
  const changes = entries.flatMap(simplified).map((entry) => toChange(entry, sizes))
  faults.push(...(faults.length === 0 ? fileAndDirectory(changes) : []))
  if (faults.length > 0) throw unsupported(faults)
  return changes
}

function faultOf({ name, previousName, before, after }: DiffEntry): readonly string[] {
  const { path, fault } = pathOf(name)
  if (fault !== null) return [fault]
  const previousFault = previousName === null ? null : pathOf(previousName).fault
  if (previousFault !== null) return [previousFault]
  const modes = [before?.mode, after?.mode]
  if (modes.includes(SUBMODULE)) return [`${quoted(path)} is a submodule (a repository inside this one)`]
  return modes.includes(SYMLINK) ? [`${quoted(path)} is a symbolic link`] : []
}

function toChange({ name, previousName, before, after }: DiffEntry, sizes: ReadonlyMap<string, number>): FileChange {
  const file_path = pathOf(name).path
  if (after === null) return { action: 'delete', file_path }
  const content = { bytes: sizes.get(after.id) ?? 0, source: after.id }
  const isSameContent = before?.id === after.id
  if (previousName !== null) {
    const previous_path = pathOf(previousName).path
    return { action: 'move', previous_path, file_path, ...(isSameContent ? {} : content) }
  }
  const execute_filemode = after.mode === EXECUTABLE
  if (isSameContent) return { action: 'chmod', file_path, execute_filemode }
  const saysMode = execute_filemode || before?.mode === EXECUTABLE
  return { action: 'upsert', file_path, ...content, ...(saysMode ? { execute_filemode } : {}) }
}

function sourceOf(change: FileChange): readonly string[] {
  return 'source' in change ? [change.source] : []
}
