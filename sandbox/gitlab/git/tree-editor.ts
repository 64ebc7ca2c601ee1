/**
 * A commit's tree in memory, to be changed path by path and written back. Directories are read when a path leads into
 * them, and only those that changed are written. Unlike git's index it takes any name git's objects can hold, as GitLab's
 * storage does.
 */
import { type Repository, readTree } from './repository.ts'
import { type StoredEntry, writeBlob, writeTree } from './write.ts'

export interface Leaf {
  readonly mode: string
  /** Set when the content is already stored. */
  readonly sha: string | null
  /** Set when it is to be written. */
  readonly content: Buffer | null
}

type Node =
  | { readonly kind: 'leaf'; readonly leaf: Leaf }
  | { readonly kind: 'directory'; readonly directory: Directory }

interface Directory {
  /** The stored tree; null once something in or below has changed. */
  sha: string | null
  /** Null until somebody looks. */
  entries: Map<string, Node> | null
}

/** `blocked`: a part of the path above is a file. */
export type PathKind = 'none' | 'file' | 'submodule' | 'directory' | 'blocked'

export interface TreeEditor {
  kind(path: string): Promise<PathKind>
  file(path: string): Promise<Leaf | null>
  /** Puts a file there, in place of whatever is there, directory or file. */
  put(path: string, leaf: Leaf): Promise<void>
  /** Removes a file or a whole directory, and the directories that become empty by it. */
  remove(path: string): Promise<void>
  /** Writes what changed and returns the id of the root tree. */
  write(): Promise<string>
}

async function entriesOf(repo: Repository, directory: Directory): Promise<Map<string, Node>> {
  if (directory.entries) return directory.entries
  const stored = directory.sha === null ? [] : ((await readTree(repo, directory.sha)) ?? [])
  directory.entries = new Map(
    stored.map(({ path, mode, sha, type }): [string, Node] => [
      path,
      type === 'tree'
        ? { kind: 'directory', directory: { sha, entries: null } }
        : { kind: 'leaf', leaf: { mode, sha, content: null } },
    ]),
  )
  return directory.entries
}

async function findNode(repo: Repository, root: Directory, path: string): Promise<Node | 'blocked' | null> {
  let node: Node = { kind: 'directory', directory: root }
  for (const part of path.split('/')) {
    if (node.kind === 'leaf') return 'blocked'
    const next: Node | undefined = (await entriesOf(repo, node.directory)).get(part)
    if (!next) return null
    node = next
  }
  return node
}

async function putNode(repo: Repository, root: Directory, path: string, node: Node): Promise<void> {
  const parts = path.split('/')
  const name = parts.pop() ?? ''
  let at = root
  for (const part of parts) {
    const entries = await entriesOf(repo, at)
    at.sha = null
    let next = entries.get(part)
    if (next?.kind !== 'directory') {
      next = { kind: 'directory', directory: { sha: null, entries: new Map() } }
      entries.set(part, next)
    }
    at = next.directory
  }
  const entries = await entriesOf(repo, at)
  at.sha = null
  entries.set(name, node)
}

/** Returns whether the directory is empty afterwards. */
async function removeNode(repo: Repository, directory: Directory, parts: readonly string[]): Promise<boolean> {
  const [name = '', ...rest] = parts
  const entries = await entriesOf(repo, directory)
  const node = entries.get(name)
  directory.sha = null
  if (rest.length === 0) entries.delete(name)
  else if (node?.kind === 'directory' && (await removeNode(repo, node.directory, rest))) entries.delete(name)
  return entries.size === 0
}

/** Writes the changed trees, innermost first, and returns the id of this one. */
async function writeDirectory(repo: Repository, directory: Directory): Promise<string> {
  if (directory.sha !== null) return directory.sha
  const stored: StoredEntry[] = []
  for (const [name, node] of directory.entries ?? []) {
    if (node.kind === 'directory') {
      stored.push({ mode: '040000', sha: await writeDirectory(repo, node.directory), name })
    } else {
      const { mode, sha, content } = node.leaf
      stored.push({ mode, sha: sha ?? (await writeBlob(repo, content ?? Buffer.alloc(0))), name })
    }
  }
  directory.sha = await writeTree(repo, stored)
  return directory.sha
}

/** Opens the tree of a commit; null starts from nothing. */
export function editTree(repo: Repository, commit: string | null): TreeEditor {
  // Any name git resolves to a tree does to read the root by; as its id it must not be reused, so the root counts as new.
  const root: Directory = { sha: commit, entries: null }
  return {
    async kind(path) {
      const node = await findNode(repo, root, path)
      if (node === null) return 'none'
      if (node === 'blocked' || node.kind === 'directory') return node === 'blocked' ? node : node.kind
      return node.leaf.mode === '160000' ? 'submodule' : 'file'
    },
    async file(path) {
      const node = await findNode(repo, root, path)
      if (node === null || node === 'blocked' || node.kind !== 'leaf') return null
      return node.leaf.mode === '160000' ? null : node.leaf
    },
    put: (path, leaf) => putNode(repo, root, path, { kind: 'leaf', leaf }),
    remove: async (path) => {
      await removeNode(repo, root, path.split('/'))
    },
    async write() {
      await entriesOf(repo, root)
      root.sha = null
      return writeDirectory(repo, root)
    },
  }
}
