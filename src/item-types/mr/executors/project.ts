/**
 * The project and target branch of an item, as they are in GitLab right now, checked against the configuration. What operators
 * can mend (a project that was renamed, archived or hidden, a role that is missing) gets a code of its own, and is tried again
 * for a while; what only a new submission can mend ends the item.
 */
import { GitLabError } from '../../../gitlab/errors.ts'
import type { CallOptions, GitLabBranch, GitLabProject } from '../../../gitlab/port.ts'
import { WorkQueueError } from '../../../lib/errors.ts'
import type { MrProjectConfig } from '../config.ts'
import { branchesCollide } from '../inspection/branch-rules.ts'
import type { MrSubmission } from '../schema.ts'
import { type Action, refuse } from './context.ts'

export interface Target {
  readonly project: GitLabProject
  /** The target branch; its sha is the commit that everything is built on. */
  readonly branch: GitLabBranch
}

/** As much of an action as looking takes, so that a dry run can look as well. */
export interface Looking {
  readonly services: Pick<Action['services'], 'gitlab'>
  readonly draft: { readonly detail: Pick<Action['draft']['detail'], 'projectId' | 'project'> }
  readonly context: CallOptions
}

/** @throws WorkQueueError, permanent, for what operators can mend; a refusal for what only a new submission can. */
export async function findTarget(action: Looking, policy: MrProjectConfig, content: MrSubmission): Promise<Target> {
  const { services, draft, context } = action
  const { gitlab } = services
  const project = await findProject(action, policy)
  // A path can be given away to another project after a rename; an item never follows it there.
  if (draft.detail.projectId !== null && draft.detail.projectId !== project.id) {
    refuse('project_replaced', `Another project has taken the path ${policy.path} since the item was submitted.`)
  }
  if (project.archived) {
    const message = `The project ${policy.path} is archived; unarchive it, then retry.`
    throw new WorkQueueError('project_archived', message)
  }
  const name = resolveTarget(policy, project, content)
  const branch = await gitlab.getBranch(project.id, name, context)
  if (branch === null) refuse('target_branch_missing', `The project ${policy.path} has no branch ${name}.`)
  return { project, branch }
}

async function findProject(action: Looking, { path }: MrProjectConfig): Promise<GitLabProject> {
  const { gitlab } = action.services
  const { projectId } = action.draft.detail
  let isRedirected = false
  const project = await gitlab.getProject(path, action.context).catch((error: unknown) => {
    isRedirected = error instanceof GitLabError && error.code === 'gitlab_redirected'
    if (isRedirected) return null
    throw error
  })
  if (project !== null) return project
  // Only its number outlives a rename.
  const known = projectId === null ? null : await gitlab.getProject(projectId, action.context)
  if (known !== null || isRedirected) {
    const now = known === null ? 'has another path' : `is ${known.path}`
    const message = `The project ${path} ${now} in GitLab by now. Name it so in the configuration, and submit the change again under that path.`
    throw new WorkQueueError('project_renamed', message)
  }
  throw projectId === null ? notFound(path) : lost(path)
}

function notFound(path: string): WorkQueueError {
  return new WorkQueueError(
    'project_not_found',
    `GitLab shows no project ${path} to the service's token; add its bot user to the project, or correct the configuration.`,
  )
}

/** GitLab says the same of a project that is gone and of one that the token may not see. */
function lost(path: string): WorkQueueError {
  return new WorkQueueError(
    'project_lost',
    `GitLab shows the project ${path} no longer: it was deleted, or the service's bot user is no member any more. Add it again, then retry.`,
  )
}

/** @throws WorkQueueError `project_lost`: what it is asked to put away cannot be seen. */
export async function requireProject({ services, draft, context }: Action, projectId: number): Promise<void> {
  if ((await services.gitlab.getProject(projectId, context)) === null) throw lost(draft.detail.project)
}

/** A refusal for want of rights says which role is missing, whichever call has met it. */
export async function withRights<T>({ draft }: Action, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof GitLabError) || error.code !== 'gitlab_forbidden') throw error
    const message = `GitLab refuses the service's bot user an action in ${draft.detail.project} (${error.answer}). Give it the role Developer there, and look at the rules for its branches; then retry.`
    throw error.renamed('rights_missing', message)
  }
}

function resolveTarget(policy: MrProjectConfig, project: GitLabProject, content: MrSubmission): string {
  const target = content.target_branch ?? project.defaultBranch
  if (target === null) refuse('target_branch_missing', `The project ${policy.path} has no default branch.`)
  const allowed = policy.target_branches ?? [project.defaultBranch]
  if (!allowed.includes(target)) {
    refuse('target_branch_not_allowed', `The target branch must be ${allowed.join(' or ')}, not ${target}.`)
  }
  const taken = [target, project.defaultBranch ?? target]
  if (taken.some((name) => branchesCollide(name, content.source_branch))) {
    refuse(
      'source_is_target',
      `The source branch ${content.source_branch} is, or collides with, a branch that changes go to; choose another.`,
    )
  }
  return target
}
