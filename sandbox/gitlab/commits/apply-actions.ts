/**
 * The five actions of the commits API on a tree in memory, as GitLab's storage does them: paths are cleaned first, all of
 * them before the first action, then the actions run one after another, each on what those before it left.
 */
import { posix } from 'node:path'
import { ApiError, refusal } from '../errors.ts'
import type { Leaf, TreeEditor } from '../git/tree-editor.ts'
import type { CommitAction } from './request.ts'

const EXISTS = 'A file with this name already exists'
const MISSING = "A file with this name doesn't exist"

/** The path as it will be committed. Throws ApiError 400. */
export function cleanPath(path: string): string {
  if (path === '') throw refusal(400, 'You must provide a file path')
  if (path.includes('//') || path.includes('\0')) throw refusal(400, `invalid path: '${path}'`)
  const clean = posix.normalize(path.replace(/^\//, '')).replace(/\/$/, '')
  if (clean === '..' || clean.startsWith('../')) throw refusal(400, 'Path cannot include directory traversal')
  if (clean === '.' || clean === '') throw refusal(400, 'You must provide a file path')
  // GitLab compares the first component only, and exactly.
  if (clean === '.git' || clean.startsWith('.git/')) throw refusal(400, `invalid path: '${clean}'`)
  return clean
}

function contentOf(action: CommitAction): Buffer | null {
  if (action.content === null) return null
  if (action.encoding === 'text') return Buffer.from(action.content, 'utf8')
  const text = action.content.replace(/[\r\n]/g, '')
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) {
    throw new ApiError(400, { message: 'illegal base64 data' })
  }
  return Buffer.from(text, 'base64')
}

interface PreparedAction {
  readonly action: CommitAction
  readonly path: string
  readonly previousPath: string | null
  readonly content: Buffer | null
}

function prepare(action: CommitAction): PreparedAction {
  return {
    action,
    path: cleanPath(action.filePath),
    previousPath: action.action === 'move' ? cleanPath(action.previousPath ?? '') : null,
    content: contentOf(action),
  }
}

function modeFor(executable: boolean): string {
  return executable ? '100755' : '100644'
}

/** Refuses a path that holds a file; a directory is in nobody's way, it is replaced. */
async function requireFree(tree: TreeEditor, path: string): Promise<void> {
  const kind = await tree.kind(path)
  if (kind !== 'none' && kind !== 'directory') throw refusal(400, EXISTS)
}

async function requireFile(tree: TreeEditor, path: string): Promise<Leaf> {
  const file = await tree.file(path)
  if (!file) throw refusal(400, MISSING)
  return file
}

async function applyOne(tree: TreeEditor, { action, path, previousPath, content }: PreparedAction): Promise<void> {
  switch (action.action) {
    case 'create':
      await requireFree(tree, path)
      await tree.put(path, {
        mode: modeFor(action.executeFilemode ?? false),
        sha: null,
        content: content ?? Buffer.alloc(0),
      })
      return
    case 'update':
      await tree.put(path, { mode: (await requireFile(tree, path)).mode, sha: null, content })
      return
    case 'move': {
      const file = await requireFile(tree, previousPath ?? '')
      await requireFree(tree, path)
      await tree.remove(previousPath ?? '')
      await tree.put(path, content === null ? file : { mode: file.mode, sha: null, content })
      return
    }
    case 'delete': {
      const kind = await tree.kind(path)
      if (kind === 'none' || kind === 'blocked') throw refusal(400, MISSING)
      await tree.remove(path)
      return
    }
    case 'chmod':
      await tree.put(path, { ...(await requireFile(tree, path)), mode: modeFor(action.executeFilemode ?? false) })
      return
    default:
      action.action satisfies never
  }
}

/** Throws ApiError 400 for the first action that does not fit; the tree is then to be thrown away. */
export async function applyActions(tree: TreeEditor, actions: readonly CommitAction[]): Promise<void> {
  for (const prepared of actions.map(prepare)) await applyOne(tree, prepared)
}
