/**
 * A project's bare repository, read: references, commits, trees, blobs. A path is a string of UTF-8; contents are bytes.
 * Looking for something that is not there answers null. Writing is in write.ts, comparing in diff.ts, merging in merge.ts.
 */
import { type Commit, parseCommit } from './commit.ts'
import { type ObjectReader, openObjectReader } from './object-reader.ts'
import { type GitOptions, type GitResult, runGit } from './process.ts'

export type { Commit } from './commit.ts'

export const ZERO_SHA = '0'.repeat(40)

export type TreeEntryType = 'blob' | 'tree' | 'commit'

export interface TreeEntry {
  /** Six digits: 100644, 100755, 120000, 160000, 040000. */
  readonly mode: string
  readonly type: TreeEntryType
  readonly sha: string
  /** From the root of the repository. */
  readonly path: string
}

export interface Branch {
  readonly name: string
  readonly sha: string
}

export interface Repository {
  readonly directory: string
  readonly objects: ObjectReader
  run(args: readonly string[], options?: GitOptions): Promise<GitResult>
  /** The same, as trimmed text. */
  text(args: readonly string[], options?: GitOptions): Promise<string>
  /** The remembered answer to a question about commits, which never change; `key` names commits by their full ids. */
  remember<T>(key: string, ask: () => Promise<T>): Promise<T>
}

const REMEMBERED = 2_000

export function openRepository(directory: string): Repository {
  const answers = new Map<string, Promise<unknown>>()
  return {
    directory,
    objects: openObjectReader(directory),
    run: (args, options) => runGit(directory, args, options),
    text: async (args, options) => (await runGit(directory, args, options)).stdout.toString('utf8').trimEnd(),
    remember<T>(key: string, ask: () => Promise<T>): Promise<T> {
      const known = answers.get(key)
      if (known) return known as Promise<T>
      const answer = ask()
      answers.set(key, answer)
      answer.catch(() => answers.delete(key))
      const [oldest] = answers.keys()
      if (answers.size > REMEMBERED && oldest !== undefined) answers.delete(oldest)
      return answer
    },
  }
}

/** The commit behind a branch, a tag, a full or short id, or `HEAD`. */
export async function resolveCommit(repo: Repository, ref: string): Promise<string | null> {
  if (ref === '' || ref.startsWith('-')) return null
  // A branch comes before anything else of the same spelling, as in GitLab.
  const branch = await branchHead(repo, ref)
  return branch ?? (await repo.objects.info(`${ref}^{commit}`))?.sha ?? null
}

/** The tip of a branch. */
export async function branchHead(repo: Repository, branch: string): Promise<string | null> {
  return (await repo.objects.info(`refs/heads/${branch}^{commit}`))?.sha ?? null
}

export async function commitExists(repo: Repository, sha: string): Promise<boolean> {
  return (await repo.objects.info(`${sha}^{commit}`)) !== null
}

/** All branches, by name. */
export async function listBranches(repo: Repository): Promise<Branch[]> {
  const text = await repo.text(['for-each-ref', '--format=%(objectname) %(refname:lstrip=2)', 'refs/heads'])
  if (text === '') return []
  return text.split('\n').map((line) => ({ sha: line.slice(0, 40), name: line.slice(41) }))
}

/** Whether git takes this as a branch's name: the rules of `git check-ref-format`, and no leading dash. */
export function isBranchName(name: string): boolean {
  if (/[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|\.$|^-/.test(name)) return false
  return name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'))
}

export interface LogOptions {
  readonly path?: string
  readonly skip?: number
  readonly limit?: number
  readonly firstParent?: boolean
  readonly since?: string
  readonly until?: string
  readonly author?: string
}

/** Commits reachable from `range` (`sha`, or `a..b`), newest first. */
export async function listCommits(repo: Repository, range: string, options: LogOptions = {}): Promise<Commit[]> {
  const args = ['rev-list']
  if (options.skip) args.push(`--skip=${options.skip}`)
  if (options.limit !== undefined) args.push(`--max-count=${options.limit}`)
  if (options.firstParent) args.push('--first-parent')
  if (options.since) args.push(`--since=${options.since}`)
  if (options.until) args.push(`--until=${options.until}`)
  if (options.author) args.push(`--author=${options.author}`)
  args.push('--end-of-options', range, '--', ...(options.path ? [options.path] : []))
  const text = await repo.text(args)
  const commits = await Promise.all((text === '' ? [] : text.split('\n')).map((sha) => readCommit(repo, sha)))
  return commits.filter((commit) => commit !== null)
}

export async function readCommit(repo: Repository, sha: string): Promise<Commit | null> {
  const object = await repo.objects.read(`${sha}^{commit}`)
  return object && parseCommit(object.sha, object.content)
}

/** The newest commit at or before `sha` that touched `path`. */
export function lastCommitFor(repo: Repository, sha: string, path: string): Promise<string | null> {
  return repo.remember(`last-commit ${sha} ${path}`, async () => {
    const text = await repo.text(['rev-list', '--max-count=1', '--end-of-options', sha, '--', path])
    return text === '' ? null : text
  })
}

function typeOf(mode: string): TreeEntryType {
  if (mode === '040000') return 'tree'
  return mode === '160000' ? 'commit' : 'blob'
}

/** The entries of one stored tree, their paths being names. */
function parseTree(content: Buffer): TreeEntry[] {
  const entries: TreeEntry[] = []
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(32, at)
    const zero = content.indexOf(0, space)
    const mode = content.toString('latin1', at, space).padStart(6, '0')
    const sha = content.toString('hex', zero + 1, zero + 21)
    entries.push({ mode, type: typeOf(mode), sha, path: content.toString('utf8', space + 1, zero) })
    at = zero + 21
  }
  return entries
}

/** The entries of the tree that git understands by `name`. */
export async function readTree(repo: Repository, name: string): Promise<TreeEntry[] | null> {
  const object = await repo.objects.read(`${name}^{tree}`)
  return object && parseTree(object.content)
}

/** What `rev` holds at exactly `path`. */
export async function treeEntry(repo: Repository, rev: string, path: string): Promise<TreeEntry | null> {
  let found: TreeEntry | null = null
  for (const name of path.split('/')) {
    if (found && found.type !== 'tree') return null
    const entries = await readTree(repo, found?.sha ?? rev)
    found = entries?.find((entry) => entry.path === name) ?? null
    if (!found) return null
  }
  return found && { ...found, path }
}

async function listAll(repo: Repository, tree: string, withTrees: boolean): Promise<TreeEntry[]> {
  const { stdout } = await repo.run(['ls-tree', '-r', '-z', ...(withTrees ? ['-t'] : []), tree])
  const lines = stdout.toString('utf8').split('\0')
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [mode = '', , sha = ''] = line.slice(0, line.indexOf('\t')).split(' ')
      return { mode, type: typeOf(mode), sha, path: line.slice(line.indexOf('\t') + 1) }
    })
}

/**
 * The entries of the directory `path` (`''` is the root); with `recursive` those of all below, and with `trees` the
 * directories among them. Null when `path` is no directory of `rev`.
 */
export async function listTree(
  repo: Repository,
  rev: string,
  path = '',
  options: { recursive?: boolean; trees?: boolean } = {},
): Promise<TreeEntry[] | null> {
  const top = path === '' ? await repo.objects.info(`${rev}^{tree}`) : await treeEntry(repo, rev, path)
  if (top?.type !== 'tree') return null
  const entries = options.recursive
    ? await listAll(repo, top.sha, options.trees ?? false)
    : ((await readTree(repo, top.sha)) ?? [])
  return path === '' ? entries : entries.map((entry) => ({ ...entry, path: `${path}/${entry.path}` }))
}

/** Throws when there is no such blob. */
export async function readBlob(repo: Repository, sha: string): Promise<Buffer> {
  const object = await repo.objects.read(sha)
  if (object?.type !== 'blob') throw new Error(`${sha} is no blob of ${repo.directory}`)
  return object.content
}

/** The bytes of the file `path` in `rev`; null when there is no file. */
export async function readFile(repo: Repository, rev: string, path: string): Promise<Buffer | null> {
  const entry = await treeEntry(repo, rev, path)
  return entry?.type === 'blob' ? readBlob(repo, entry.sha) : null
}

/** Whether `ancestor` is reachable from `descendant`; both are ids. */
export function isAncestor(repo: Repository, ancestor: string, descendant: string): Promise<boolean> {
  return repo.remember(`ancestor ${ancestor} ${descendant}`, async () => {
    const { code } = await repo.run(['merge-base', '--is-ancestor', ancestor, descendant], { allow: [1] })
    return code === 0
  })
}

/** The merge base of two commits, both given by id. */
export function mergeBase(repo: Repository, a: string, b: string): Promise<string | null> {
  return repo.remember(`base ${a} ${b}`, async () => {
    const { code, stdout } = await repo.run(['merge-base', a, b], { allow: [1] })
    return code === 0 ? stdout.toString('utf8').trim() : null
  })
}

/** How many commits `range` holds. */
export async function countCommits(repo: Repository, range: string): Promise<number> {
  return Number(await repo.text(['rev-list', '--count', range]))
}
