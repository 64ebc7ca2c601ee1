/**
 * Real merges without a work tree, through `git merge-tree --write-tree`: a three-way merge of two commits, and the replay
 * of commits onto another head, one after another, as a rebase does.
 */
import { GitError } from './process.ts'
import { type Repository, readCommit } from './repository.ts'
import { type Identity, writeCommit } from './write.ts'

/** The merged tree, or null when the two sides conflict (or share no history). */
export async function mergeTree(repo: Repository, ours: string, theirs: string): Promise<string | null> {
  try {
    const { code, stdout } = await repo.run(['merge-tree', '--write-tree', '--no-messages', ours, theirs], {
      allow: [1],
    })
    return code === 0 ? stdout.toString('utf8').trim() : null
  } catch (error) {
    if (error instanceof GitError && /unrelated histories/.test(error.stderr)) return null
    throw error
  }
}

/** The merged tree of applying what `commit` did to its parent onto `onto`, or null on conflict. */
async function cherryPickTree(repo: Repository, commit: string, parent: string, onto: string): Promise<string | null> {
  // merge-tree finds the merge base itself. A stand-in for `onto` whose parent is the commit's parent makes that the base.
  const nobody: Identity = { name: 'sandbox', email: 'sandbox@sandbox.invalid' }
  const target = await readCommit(repo, onto)
  if (!target) return null
  const stand = await writeCommit(repo, {
    tree: target.tree,
    parents: [parent],
    message: 'stand-in',
    author: nobody,
    committer: nobody,
    date: new Date(0),
  })
  return mergeTree(repo, stand, commit)
}

export type ReplayResult = { readonly ok: true; readonly sha: string } | { readonly ok: false }

/**
 * Replays the commits of `head` that `onto` lacks, oldest first and without merges, onto `onto`. Authors and their dates
 * stay; commits that bring nothing new are left out.
 */
export async function replay(
  repo: Repository,
  head: string,
  onto: string,
  committer: Identity,
  date: Date,
): Promise<ReplayResult> {
  const listed = await repo.text(['rev-list', '--reverse', '--no-merges', '--topo-order', `${onto}..${head}`])
  let tip = onto
  for (const sha of listed === '' ? [] : listed.split('\n')) {
    const commit = await readCommit(repo, sha)
    const parent = commit?.parents[0]
    if (!commit || parent === undefined) return { ok: false }
    const tree = await cherryPickTree(repo, sha, parent, tip)
    if (tree === null) return { ok: false }
    if (tree === (await readCommit(repo, tip))?.tree) continue
    const { author, message } = commit
    tip = await writeCommit(repo, { tree, parents: [tip], message, author, committer, date, authorDate: author.date })
  }
  return { ok: true, sha: tip }
}
