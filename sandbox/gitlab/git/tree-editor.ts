/**
 * A commit's tree in memory, to be changed path by path and written back. Directories are read when a path leads into
 * them, and only those that changed are written, all in one `mktree`: their ids are worked out here. Unlike git's index it
 * takes any name git's objects can hold, as GitLab's storage does.
 */
import { createHash } from 'node:crypto'
import { type Repository, readTree } from './repository.ts'
import { writeBlob } from './write.ts'

export interface Leaf {
  readonly mode: string
  /** Set when the content is already stored. */
  readonly sha: string | null
  /** Set when it is to be written. */
  readonly content: Buffer | null
}

type Node = { readonly kind: 'leaf'; leaf: Leaf } | { readonly kind: 'directory'; readonly directory: Directory }

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

async function writeContents(repo: Repository, directory: Directory, prefix: string): Promise<void> {
  if (directory.sha !== null) return
  for (const [name, node] of directory.entries ?? []) {
    const path = `${prefix}${name}`
    if (node.kind === 'directory') await writeContents(repo, node.directory, `${path}/`)
    else if (node.leaf.content !== null) {
      node.leaf = { mode: node.leaf.mode, sha: await writeBlob(repo, node.leaf.content, path), content: null }
    }
  }
}

interface StoredEntry {
  readonly mode: string
  readonly type: 'blob' | 'tree' | 'commit'
  readonly sha: string
  readonly name: string
}

/** git orders a tree's entries by bytes, a directory as if its name ended in a slash. */
function sortKey(entry: StoredEntry): Buffer {
  return Buffer.from(entry.type === 'tree' ? `${entry.name}/` : entry.name)
}

function treeId(entries: readonly StoredEntry[]): string {
  const sorted = entries.toSorted((a, b) => Buffer.compare(sortKey(a), sortKey(b)))
  const body = Buffer.concat(
    sorted.flatMap((entry) => [
      Buffer.from(`${entry.mode.replace(/^0+/, '')} ${entry.name}\0`),
      Buffer.from(entry.sha, 'hex'),
    ]),
  )
  return createHash('sha1').update(`tree ${body.length}\0`).update(body).digest('hex')
}

/** Collects the changed trees, innermost first, as input for `mktree --batch`; returns the tree's id. */
function collectTrees(directory: Directory, records: string[]): string {
  if (directory.sha !== null) return directory.sha
  const entries: StoredEntry[] = []
  for (const [name, node] of directory.entries ?? []) {
    if (node.kind === 'directory') {
      entries.push({ mode: '040000', type: 'tree', sha: collectTrees(node.directory, records), name })
    } else {
      const { mode, sha } = node.leaf
      entries.push({ mode, type: mode === '160000' ? 'commit' : 'blob', sha: sha ?? '', name })
    }
  }
  records.push(`${entries.map((entry) => `${entry.mode} ${entry.type} ${entry.sha}\t${entry.name}\0`).join('')}\0`)
  directory.sha = treeId(entries)
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
      await writeContents(repo, root, '')
      const records: string[] = []
      const id = collectTrees(root, records)
      if (records.length > 0) await repo.run(['mktree', '--batch', '-z', '--missing'], { input: records.join('') })
      return id
    },
  }
}
