/** The foreign client of the contract suite, gitbeaker, and what the suite needs around it. */
import { Gitlab } from '@gitbeaker/rest'
import { expect, vi } from 'vitest'
import { type GitLabTarget, PATIENCE_MS } from './gitlab-target.ts'

export type Client = ReturnType<typeof clientFor>

export function clientFor(url: string, token: string) {
  return new Gitlab<false>({ host: url, oauthToken: token, queryTimeout: 30_000, rateLimits: {} })
}

export interface ContractProject {
  readonly id: number
  readonly path: string
  readonly owner: Client
  readonly developer: Client
  /** One commit on a branch, which starts at the default branch if it is new; answers its id. */
  commit(branch: string, files: Readonly<Record<string, string>>, message?: string): Promise<string>
  /** A branch with one changed file, and a merge request for it into the default branch. */
  open(branch: string, files?: Readonly<Record<string, string>>): Promise<{ iid: number; sha: string }>
}

/** A name that nothing has yet. */
export function freshName(name: string): string {
  return `${name}-${Math.random().toString(36).slice(2, 10)}`
}

/** A fresh private project with a README on `main`; only its owner is in it. */
export async function createPrivateProject(target: GitLabTarget, name: string) {
  const owner = clientFor(target.url, target.ownerToken)
  const { id, path_with_namespace: path } = await owner.Projects.create({
    name: freshName(name),
    initializeWithReadme: true,
    defaultBranch: 'main',
    ...(target.groupId === null ? {} : { namespaceId: target.groupId }),
  })
  target.removeLater(() => owner.Projects.remove(id))
  return { id, path, owner }
}

/** The same with the target's developer in it. */
export async function createContractProject(target: GitLabTarget, name: string): Promise<ContractProject> {
  const developer = clientFor(target.url, target.developer.token)
  const { id, path, owner } = await createPrivateProject(target, name)
  await owner.ProjectMembers.add(id, 30, { userId: target.developer.id })

  async function commit(branch: string, files: Readonly<Record<string, string>>, message = `Change ${branch}`) {
    const branches = await owner.Branches.all(id)
    const known = branches.some((candidate) => candidate.name === branch)
    const tree = await owner.Repositories.allRepositoryTrees(id, { ref: known ? branch : 'main', recursive: true })
    const actions = Object.entries(files).map(([filePath, content]) => {
      const action = tree.some((entry) => entry.path === filePath) ? ('update' as const) : ('create' as const)
      return { action, filePath, content }
    })
    const made = await owner.Commits.create(id, branch, message, actions, known ? {} : { startBranch: 'main' })
    return made.id
  }

  return {
    id,
    path,
    owner,
    developer,
    commit,
    async open(branch, files = { [`${branch.replaceAll('/', '-')}.txt`]: 'one\n' }) {
      const sha = await commit(branch, files)
      const { iid } = await owner.MergeRequests.create(id, branch, 'main', `Merge ${branch}`)
      return { iid, sha }
    },
  }
}

/** What a refused call was answered: the status, and the text under `message` or `error` (lists and objects as JSON). */
export async function refusalOf(call: Promise<unknown>): Promise<{ status: number; text: string }> {
  const outcome = await call.then(
    () => null,
    (error: unknown) => error,
  )
  if (outcome === null) throw new Error('the call was expected to be refused, and worked')
  const cause = (outcome as { cause?: { description?: string; response?: { status?: number } } }).cause
  if (cause?.response?.status === undefined) throw outcome
  return { status: cause.response.status, text: cause.description ?? '' }
}

/** Reads again and again until `arrived` says so; GitLab does much in the background. */
export function eventually<T>(
  read: () => Promise<T>,
  arrived: (value: T) => boolean,
  timeout = PATIENCE_MS,
): Promise<T> {
  return vi.waitFor(
    async () => {
      const value = await read()
      expect(arrived(value), `still waiting; the last answer was ${JSON.stringify(value).slice(0, 400)}`).toBe(true)
      return value
    },
    { timeout, interval: 25 },
  )
}

/** Waits until the git check of a merge request has come to a result. */
export function settled({ owner, id }: ContractProject, iid: number) {
  const open = ['preparing', 'checking', 'unchecked']
  return eventually(
    () => owner.MergeRequests.show(id, iid),
    (mergeRequest) => !open.includes(mergeRequest.detailed_merge_status) && mergeRequest.prepared_at !== null,
  )
}
