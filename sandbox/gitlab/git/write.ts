/**
 * Writing to a bare repository below any work tree: objects, and at last one reference moved from a known old value. Until
 * the reference moves nothing is visible, so a failure on the way leaves no trace. Objects are written here as git writes
 * loose ones, since a process for each would take most of a commit's time; references are git's own affair.
 */
import { createHash, randomBytes } from 'node:crypto'
import { access, mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { deflate } from 'node:zlib'
import { storedBytes } from './autocrlf.ts'
import { GitError } from './process.ts'
import { openRepository, type Repository, ZERO_SHA } from './repository.ts'

const compress = promisify(deflate)

/** Makes an empty bare repository whose HEAD names `defaultBranch`. */
export async function initRepository(directory: string, defaultBranch: string): Promise<void> {
  await mkdir(dirname(directory), { recursive: true })
  const repo = openRepository(directory)
  await repo.run(['init', '--quiet', '--bare', '--template=', `--initial-branch=${defaultBranch}`])
}

export async function setHead(repo: Repository, branch: string): Promise<void> {
  await repo.run(['symbolic-ref', 'HEAD', `refs/heads/${branch}`])
}

type ObjectType = 'blob' | 'tree' | 'commit'

function framed(type: ObjectType, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])
}

/** Stores an object under the id that its content gives it, and returns the id. */
export async function writeObject(repo: Repository, type: ObjectType, content: Buffer): Promise<string> {
  const whole = framed(type, content)
  const sha = createHash('sha1').update(whole).digest('hex')
  const directory = join(repo.directory, 'objects', sha.slice(0, 2))
  const file = join(directory, sha.slice(2))
  const there = await access(file).then(
    () => true,
    () => false,
  )
  if (there) return sha
  await mkdir(directory, { recursive: true })
  const temporary = join(directory, `tmp_obj_${randomBytes(8).toString('hex')}`)
  await writeFile(temporary, await compress(whole, { level: 1 }), { mode: 0o444 })
  await rename(temporary, file)
  return sha
}

/**
 * Stores a file's bytes and returns the blob's id. CRLF becomes LF where git takes the bytes for text, as on GitLab
 * (`core.autocrlf=input`).
 */
export function writeBlob(repo: Repository, content: Buffer): Promise<string> {
  return writeObject(repo, 'blob', storedBytes(content))
}

export interface StoredEntry {
  readonly mode: string
  readonly sha: string
  readonly name: string
}

/** git orders a tree's entries by bytes, a directory as if its name ended in a slash. */
function sortKey({ mode, name }: StoredEntry): Buffer {
  return Buffer.from(mode === '040000' ? `${name}/` : name)
}

export function writeTree(repo: Repository, entries: readonly StoredEntry[]): Promise<string> {
  const sorted = entries.toSorted((a, b) => Buffer.compare(sortKey(a), sortKey(b)))
  const parts = sorted.flatMap(({ mode, name, sha }) => [
    Buffer.from(`${mode.replace(/^0+/, '')} ${name}\0`),
    Buffer.from(sha, 'hex'),
  ])
  return writeObject(repo, 'tree', Buffer.concat(parts))
}

export interface Identity {
  readonly name: string
  readonly email: string
}

export interface NewCommit {
  readonly tree: string
  readonly parents: readonly string[]
  readonly message: string
  readonly author: Identity
  readonly committer: Identity
  readonly date: Date
  /** ISO 8601 with an offset, where the author wrote at another time, as for a rebased commit. */
  readonly authorDate?: string
}

/** `Name <email>`, without what git drops; a name made of nothing else would be refused. */
function ident({ name, email }: Identity): string {
  const clean = (text: string) => text.replace(/[<>\n\r\0]/g, '').replace(/^[\s.,:;"'\\]+|[\s.,:;"'\\]+$/g, '')
  return `${clean(name) || 'unknown'} <${clean(email)}>`
}

function stamp(date: Date, zone = '+0000'): string {
  return `${Math.floor(date.getTime() / 1000)} ${zone}`
}

export function writeCommit(repo: Repository, commit: NewCommit): Promise<string> {
  const { authorDate, date } = commit
  const written =
    authorDate === undefined ? stamp(date) : stamp(new Date(authorDate), authorDate.slice(-6).replace(':', ''))
  const lines = [
    `tree ${commit.tree}`,
    ...commit.parents.map((parent) => `parent ${parent}`),
    `author ${ident(commit.author)} ${written}`,
    `committer ${ident(commit.committer)} ${stamp(date)}`,
  ]
  return writeObject(repo, 'commit', Buffer.from(`${lines.join('\n')}\n\n${commit.message}`))
}

/**
 * Moves a branch from `before` (zeros: it must not exist) to `after` (zeros: delete it). False when the branch is no
 * longer where the caller saw it, or git refuses the name.
 */
export async function moveBranch(repo: Repository, branch: string, before: string, after: string): Promise<boolean> {
  const ref = `refs/heads/${branch}`
  const change = after === ZERO_SHA ? ['-d', ref, before] : [ref, after, before]
  try {
    await repo.run(['update-ref', '--no-deref', ...change])
    return true
  } catch (error) {
    if (error instanceof GitError) return false
    throw error
  }
}
