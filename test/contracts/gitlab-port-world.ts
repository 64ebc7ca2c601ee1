/** What the tests of the port share: a target with one project, the port to it, and the few steps that most of them take. */
import { createGitLab } from '../../src/gitlab/create-gitlab.ts'
import type { GitLab, GitLabMergeRequest, GitLabMergeRequestFields, GitLabPipeline } from '../../src/gitlab/port.ts'
import { type ContractProject, createContractProject, eventually } from './gitlab-client.ts'
import { type GitLabTarget, openGitLabTarget } from './gitlab-target.ts'

export const FIELDS: GitLabMergeRequestFields = {
  title: 'A change',
  description: 'What it is for.\n',
  labels: ['docs', 'bot'],
  assigneeIds: [],
  reviewerIds: [],
  squash: false,
  removeSourceBranch: true,
}

export interface PortWorld {
  readonly target: GitLabTarget
  readonly project: ContractProject
  /** The port with the owner's token. */
  readonly gitlab: GitLab
  portFor(token: string): GitLab
  mainHead(): Promise<string>
  /** One commit on `main`'s head, which becomes the branch; answers its id. */
  commit(branch: string, files?: Readonly<Record<string, string>>): Promise<string>
  open(branch: string, fields?: Partial<GitLabMergeRequestFields>): Promise<GitLabMergeRequest>
  /** The merge request, once GitLab has made up its mind. */
  settled(iid: number): Promise<GitLabMergeRequest>
  /** The head pipeline, once there is one that is as it should be. */
  headPipeline(iid: number, fits?: (pipeline: GitLabPipeline) => boolean): Promise<GitLabPipeline | null>
}

export async function openPortWorld(): Promise<PortWorld> {
  const target = await openGitLabTarget()
  const project = await createContractProject(target, 'port')
  const portFor = (token: string) => createGitLab({ url: target.url, token, timeoutMs: 10_000 })
  const gitlab = portFor(target.ownerToken)

  async function mainHead(): Promise<string> {
    const main = await gitlab.getBranch(project.id, 'main')
    if (main === null) throw new Error('no main')
    return main.sha
  }
  async function read(iid: number): Promise<GitLabMergeRequest> {
    const mergeRequest = await gitlab.getMergeRequest(project.id, iid)
    if (mergeRequest === null) throw new Error(`no merge request ${iid}`)
    return mergeRequest
  }
  return {
    target,
    project,
    gitlab,
    portFor,
    mainHead,
    async commit(branch, files = { [`docs/${branch}.md`]: 'x\n' }) {
      const { sha } = await gitlab.createCommit(project.id, {
        branch,
        startSha: await mainHead(),
        message: 'Add it\n\nWorkqueue-Item: 1\n',
        actions: Object.entries(files).map(([file_path, content]) => ({ action: 'create', file_path, content })),
        force: true,
      })
      return sha
    },
    open: (branch, fields = {}) =>
      gitlab.createMergeRequest(project.id, { sourceBranch: branch, targetBranch: 'main' }, { ...FIELDS, ...fields }),
    settled(iid) {
      const open = ['unchecked', 'checking', 'preparing']
      return eventually(
        () => read(iid),
        ({ detailedMergeStatus }) => !open.includes(detailedMergeStatus),
      )
    },
    headPipeline: (iid, fits = () => true) =>
      eventually(
        async () => (await read(iid)).headPipeline,
        (pipeline) => pipeline !== null && fits(pipeline),
      ),
  }
}
