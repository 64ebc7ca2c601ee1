/**
 * What a submission means for one particular tree: which of its actions change anything there, how `upsert` reads, what
 * cannot be done, and what each touched path must hold afterwards. Pure. The outcome is known before anything is written:
 * a plan without actions means that the target already is as the caller wants it.
 */
import { createHash } from 'node:crypto'
import type { GitLabCommitAction, GitLabTreeEntry } from '../../gitlab/port.ts'
import type { Finding } from '../../lib/finding.ts'
import { touchedPaths } from './inspection/file-rules.ts'
import { finding } from './inspection/rules.ts'
import type { FileAction } from './schema.ts'
import type { TargetTree } from './target-tree.ts'

/** What a path must hold: one of some blobs (GitLab may turn CRLF into LF) with a mode; null: nothing. */
export type Expectation = { readonly blobIds: readonly string[]; readonly mode: string } | null

export interface FilePlan {
  readonly findings: readonly Finding[]
  /** For GitLab's commit call; empty when nothing would change. */
  readonly actions: readonly GitLabCommitAction[]
  readonly expected: ReadonlyMap<string, Expectation>
}

export function planFiles(fileActions: readonly FileAction[], tree: TargetTree): FilePlan {
  const findings: Finding[] = []
  const actions: GitLabCommitAction[] = []
  const expected = new Map<string, Expectation>()
  for (const [index, action] of fileActions.entries()) {
    const obstruction = findObstruction(action, index, tree)
    const step = obstruction === null ? planAction(action, tree) : { refused: obstruction }
    if ('refused' in step) {
      findings.push(typeof step.refused === 'string' ? describe(action, index, step.refused) : step.refused)
      continue
    }
    actions.push(...step.actions)
    for (const [path, expectation] of step.expected) expected.set(path, expectation)
  }
  return { findings, actions, expected }
}

type Step =
  | { readonly refused: RefusalCode }
  | { readonly actions: readonly GitLabCommitAction[]; readonly expected: readonly (readonly [string, Expectation])[] }

type RefusalCode = 'file_exists' | 'file_missing'

const FILE = '100644'
const EXECUTABLE = '100755'

function planAction(action: FileAction, tree: TargetTree): Step {
  const path = action.file_path
  const entry = tree.entries.get(path) ?? null
  switch (action.action) {
    case 'create':
      return entry === null ? create(action) : keepEqual(action, entry)
    case 'update':
      return entry === null ? { refused: 'file_missing' } : replace(action, entry)
    case 'upsert':
      return entry === null ? create(action) : replace(action, entry)
    case 'delete':
      if (entry === null) return { refused: 'file_missing' }
      return { actions: [{ action: 'delete', file_path: path }], expected: [[path, null]] }
    case 'move':
      return move(action, tree)
    case 'chmod': {
      if (entry === null) return { refused: 'file_missing' }
      const mode = modeOf(action.execute_filemode)
      const { execute_filemode } = action
      return {
        actions: mode === entry.mode ? [] : [{ action: 'chmod', file_path: path, execute_filemode }],
        expected: [[path, { blobIds: [entry.id], mode }]],
      }
    }
  }
}

type WithContent = Extract<FileAction, { action: 'create' | 'update' | 'upsert' }>

function create(action: WithContent): Step {
  const { file_path, content, encoding } = action
  const execute_filemode = 'execute_filemode' in action ? action.execute_filemode : undefined
  return {
    actions: [
      {
        action: 'create',
        file_path,
        content,
        encoding,
        ...(execute_filemode === undefined ? {} : { execute_filemode }),
      },
    ],
    expected: [[file_path, { blobIds: blobIdsOf(action), mode: modeOf(execute_filemode) }]],
  }
}

/** A file that already is what `create` asks for is no conflict: the same change may have landed by another way. */
function keepEqual(action: Extract<FileAction, { action: 'create' }>, entry: GitLabTreeEntry): Step {
  const blobIds = blobIdsOf(action, entry)
  const mode = modeOf(action.execute_filemode)
  if (!blobIds.includes(entry.id) || entry.mode !== mode) return { refused: 'file_exists' }
  return { actions: [], expected: [[action.file_path, { blobIds, mode }]] }
}

function replace(action: WithContent, entry: GitLabTreeEntry): Step {
  const { file_path, content, encoding } = action
  const blobIds = blobIdsOf(action, entry)
  const execute_filemode = 'execute_filemode' in action ? action.execute_filemode : undefined
  const mode = execute_filemode === undefined ? entry.mode : modeOf(execute_filemode)
  const actions: GitLabCommitAction[] = []
  if (!blobIds.includes(entry.id)) actions.push({ action: 'update', file_path, content, encoding })
  // GitLab's update ignores the mode, so that a change of mode is an action of its own.
  if (mode !== entry.mode) actions.push({ action: 'chmod', file_path, execute_filemode: mode === EXECUTABLE })
  return { actions, expected: [[file_path, { blobIds, mode }]] }
}

function move(action: Extract<FileAction, { action: 'move' }>, tree: TargetTree): Step {
  const { file_path, previous_path, content, encoding } = action
  const source = tree.entries.get(previous_path) ?? null
  if (source === null) return { refused: 'file_missing' }
  if (tree.entries.get(file_path)) return { refused: 'file_exists' }
  const blobIds = content === undefined ? [source.id] : blobIdsOf({ content, encoding }, source)
  return {
    actions: [{ action: 'move', file_path, previous_path, ...(content === undefined ? {} : { content, encoding }) }],
    expected: [
      [previous_path, null],
      [file_path, { blobIds, mode: source.mode }],
    ],
  }
}

/** Whatever is no ordinary file is refused: a symlink, a submodule, a directory, at the path or on the way to it. */
function findObstruction(action: FileAction, index: number, tree: TargetTree): Finding | null {
  for (const { key, path } of touchedPaths(action)) {
    const entry = tree.obstructed.get(path) ?? tree.entries.get(path) ?? null
    if (entry === null || (entry.type === 'blob' && entry.mode !== '120000' && entry.path === path)) continue
    return finding('not_a_file', `/file_actions/${index}/${key}`, { path: entry.path, kind: kindOf(entry) })
  }
  return null
}

function kindOf({ type, mode }: GitLabTreeEntry): string {
  if (type === 'tree') return 'a directory'
  if (type === 'commit') return 'a submodule'
  return mode === '120000' ? 'a symbolic link' : 'a file'
}

function describe(action: FileAction, index: number, code: RefusalCode): Finding {
  const missingSource = action.action === 'move' && code === 'file_missing'
  const [key, path] = missingSource ? ['previous_path', action.previous_path] : ['file_path', action.file_path]
  return finding(code, `/file_actions/${index}/${key}`, { path })
}

function modeOf(executable: boolean | undefined): string {
  return executable === true ? EXECUTABLE : FILE
}

/**
 * The ids that Git may give to this content. Two, because GitLab stores what it takes for text with LF; `like` is an entry
 * of the same repository, whose id tells SHA-1 from SHA-256.
 */
function blobIdsOf(
  { content, encoding }: { readonly content: string; readonly encoding: 'text' | 'base64' },
  like?: Pick<GitLabTreeEntry, 'id'>,
): readonly string[] {
  const bytes = encoding === 'base64' ? Buffer.from(content, 'base64') : Buffer.from(content)
  const algorithms = like === undefined ? ['sha1', 'sha256'] : [like.id.length === 64 ? 'sha256' : 'sha1']
  const isTextWithCrLf = bytes.includes('\r\n') && !bytes.includes(0)
  const forms = isTextWithCrLf ? [bytes, withLineFeeds(bytes)] : [bytes]
  return algorithms.flatMap((algorithm) => forms.map((form) => gitBlobId(algorithm, form)))
}

function gitBlobId(algorithm: string, bytes: Buffer): string {
  return createHash(algorithm).update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}

function withLineFeeds(bytes: Buffer): Buffer {
  // latin1 maps bytes to characters one to one, so nothing else changes.
  return Buffer.from(bytes.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')
}
