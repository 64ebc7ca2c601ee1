/**
 * Writing to a bare repository with git's plumbing, below any work tree: blobs, trees, commits, and at last one reference
 * moved from a known old value. Until the reference moves nothing is visible, so a failure on the way leaves no trace.
 */
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { GitError } from './process.ts'
import { openRepository, type Repository, ZERO_SHA } from './repository.ts'

/** Makes an empty bare repository whose HEAD names `defaultBranch`. */
export async function initRepository(directory: string, defaultBranch: string): Promise<Repository> {
  await mkdir(dirname(directory), { recursive: true })
  const repo = openRepository(directory)
  await repo.run(['init', '--quiet', '--bare', '--template=', `--initial-branch=${defaultBranch}`])
  return repo
}

export async function setHead(repo: Repository, branch: string): Promise<void> {
  await repo.run(['symbolic-ref', 'HEAD', `refs/heads/${branch}`])
}

/**
 * Stores a file's bytes and returns the blob's id. CRLF becomes LF where git takes the bytes for text, as on GitLab
 * (`core.autocrlf=input`).
 */
export async function writeBlob(repo: Repository, content: Buffer, path: string): Promise<string> {
  return repo.text(['-c', 'core.autocrlf=input', 'hash-object', '-w', '--stdin', `--path=${path}`], { input: content })
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
  /** Where it differs from `date`, as for a rebased commit; git's own date format. */
  readonly authorDate?: string
}

/** git drops these from names and refuses a name made of them alone. */
function identName(identity: Identity): string {
  const name = identity.name.replace(/[<>\n\r\0]/g, '').trim()
  return /[^\s.,:;"'\\]/.test(name) ? name : 'unknown'
}

export async function writeCommit(repo: Repository, commit: NewCommit): Promise<string> {
  const date = `${Math.floor(commit.date.getTime() / 1000)} +0000`
  const parents = commit.parents.flatMap((parent) => ['-p', parent])
  return repo.text(['commit-tree', commit.tree, ...parents], {
    input: commit.message,
    env: {
      GIT_AUTHOR_NAME: identName(commit.author),
      GIT_AUTHOR_EMAIL: commit.author.email.replace(/[<>\n\r\0]/g, ''),
      GIT_AUTHOR_DATE: commit.authorDate ?? date,
      GIT_COMMITTER_NAME: identName(commit.committer),
      GIT_COMMITTER_EMAIL: commit.committer.email.replace(/[<>\n\r\0]/g, ''),
      GIT_COMMITTER_DATE: date,
    },
  })
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
