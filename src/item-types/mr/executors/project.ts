/** The project and target branch of an item, as they are in GitLab right now, checked against the configuration. */
import type { GitLabBranch, GitLabProject } from '../../../gitlab/port.ts'
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

/** @throws WorkQueueError, permanent, for what operators can mend; a refusal for what only a new submission can. */
export async function findTarget(
  { services, draft, context }: Action,
  policy: MrProjectConfig,
  content: MrSubmission,
): Promise<Target> {
  const { gitlab } = services
  const project = await gitlab.getProject(policy.path, context)
  if (project === null) {
    throw new WorkQueueError(
      'project_not_found',
      `GitLab shows no project ${policy.path} to the service's token; add its bot user to the project, or correct the configuration.`,
    )
  }
  // A path can be given away to another project after a rename; an item never follows it there.
  if (draft.detail.projectId !== null && draft.detail.projectId !== project.id) {
    refuse('project_replaced', `Another project has taken the path ${policy.path} since the item was submitted.`)
  }
  if (project.archived) throw new WorkQueueError('project_archived', `The project ${policy.path} is archived.`)
  const name = resolveTarget(policy, project, content)
  const branch = await gitlab.getBranch(project.id, name, context)
  if (branch === null) refuse('target_branch_missing', `The project ${policy.path} has no branch ${name}.`)
  return { project, branch }
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
