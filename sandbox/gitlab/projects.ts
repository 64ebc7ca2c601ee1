/**
 * Makes projects: a record and a bare repository, with a first commit when files are given. The default branch is
 * protected for maintainers, as GitLab does for a new project.
 */
import { join } from 'node:path'
import { MAINTAINER } from './auth.ts'
import type { SandboxContext } from './context.ts'
import { ZERO_SHA } from './git/repository.ts'
import { editTree } from './git/tree-editor.ts'
import { type Identity, initRepository, moveBranch, setHead, writeCommit } from './git/write.ts'
import type { Project } from './state.ts'

export function repositoryDirectory(dataDir: string, project: Pick<Project, 'id'>): string {
  return join(dataDir, 'repositories', `${project.id}.git`)
}

export type FileContent = string | Buffer | { readonly content: string | Buffer; readonly executable: boolean }

type Settings = Partial<
  Pick<
    Project,
    | 'mergeMethod'
    | 'squashOption'
    | 'onlyAllowMergeIfPipelineSucceeds'
    | 'allowMergeOnSkippedPipeline'
    | 'onlyAllowMergeIfAllDiscussionsAreResolved'
    | 'mergePipelinesEnabled'
    | 'resetApprovalsOnPush'
    | 'removeSourceBranchAfterMerge'
    | 'mergeRequestsEnabled'
    | 'approvalsRequired'
    | 'protectedBranches'
    | 'labels'
    | 'description'
  >
>

export interface NewProject extends Settings {
  /** Full path, such as `demo/widgets`. */
  readonly path: string
  readonly defaultBranch?: string
  /** Content by path; none at all leaves the repository empty. */
  readonly files?: Readonly<Record<string, FileContent>>
  /** Access level by user id. */
  readonly members?: Readonly<Record<number, number>>
}

const FIRST_AUTHOR: Identity = { name: 'Administrator', email: 'admin@sandbox.invalid' }

/** A file as the tree editor takes it. */
export function leafOf(file: FileContent) {
  const whole = typeof file === 'string' || Buffer.isBuffer(file) ? { content: file, executable: false } : file
  const content = typeof whole.content === 'string' ? Buffer.from(whole.content) : whole.content
  return { mode: whole.executable ? '100755' : '100644', sha: null, content }
}

async function firstCommit(context: SandboxContext, project: Project, files: Readonly<Record<string, FileContent>>) {
  const repo = context.git(project)
  const tree = editTree(repo, null)
  for (const [path, file] of Object.entries(files)) await tree.put(path, leafOf(file))
  const commit = await writeCommit(repo, {
    tree: await tree.write(),
    parents: [],
    message: 'Initial commit',
    author: FIRST_AUTHOR,
    committer: FIRST_AUTHOR,
    date: context.clock.now(),
  })
  await moveBranch(repo, project.defaultBranch, ZERO_SHA, commit)
}

/** Throws when the path is taken. */
export async function createProject(context: SandboxContext, given: NewProject): Promise<Project> {
  if (context.findProject(given.path)) throw new Error(`project ${given.path} exists already`)
  const { path, files, members, defaultBranch = 'main', ...settings } = given
  const project: Project = {
    id: context.nextId(),
    pathWithNamespace: path,
    defaultBranch,
    archived: false,
    mergeMethod: 'merge',
    squashOption: 'default_off',
    onlyAllowMergeIfPipelineSucceeds: false,
    allowMergeOnSkippedPipeline: false,
    removeSourceBranchAfterMerge: true,
    mergeRequestsEnabled: true,
    description: '',
    emptyRepo: true,
    approvalsRequired: 0,
    protectedBranches: [{ name: defaultBranch, pushAccessLevel: MAINTAINER, mergeAccessLevel: MAINTAINER }],
    members: { ...members },
    hooks: [],
    labels: [],
    createdAt: context.timestamp(),
    nextMergeRequestIid: 1,
    nextPipelineIid: 1,
    ...settings,
  }
  await initRepository(repositoryDirectory(context.dataDir, project), defaultBranch)
  if (files && Object.keys(files).length > 0) {
    await firstCommit(context, project, files)
    project.emptyRepo = false
  }
  context.state.projects.push(project)
  context.save()
  return project
}

/** Changes the default branch, in the record and as the repository's HEAD. */
export async function setDefaultBranch(context: SandboxContext, project: Project, branch: string): Promise<void> {
  await setHead(context.git(project), branch)
  project.defaultBranch = branch
  context.save()
}
