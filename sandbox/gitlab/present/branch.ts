/** Branches and their protection as JSON. */
import { DEVELOPER } from '../auth.ts'
import type { SandboxContext } from '../context.ts'
import type { Branch, Commit } from '../git/repository.ts'
import { mayPush, protectionsOf } from '../protection.ts'
import type { Project, ProtectedBranch, User } from '../state.ts'
import { presentCommit } from './commit.ts'
import { projectUrl } from './project.ts'

export interface BranchView {
  readonly branch: Branch
  readonly commit: Commit
  /** Whether the default branch holds all of it. */
  readonly merged: boolean
}

export function presentBranch(context: SandboxContext, project: Project, user: User, view: BranchView) {
  const rules = protectionsOf(project, view.branch.name)
  const developersReach = (level: number) => level > 0 && level <= DEVELOPER
  return {
    name: view.branch.name,
    commit: presentCommit(context, project, view.commit),
    merged: view.merged,
    protected: rules.length > 0,
    developers_can_push: rules.some((rule) => developersReach(rule.pushAccessLevel)),
    developers_can_merge: rules.some((rule) => developersReach(rule.mergeAccessLevel)),
    can_push: mayPush(context, project, user, view.branch.name),
    default: view.branch.name === project.defaultBranch,
    web_url: `${projectUrl(context, project)}/-/tree/${view.branch.name.split('/').map(encodeURIComponent).join('/')}`,
  }
}

const LEVEL_NAMES: Record<number, string> = {
  0: 'No one',
  30: 'Developers + Maintainers',
  40: 'Maintainers',
  60: 'Instance admins',
}

function presentLevel(id: number, level: number) {
  return {
    id,
    access_level: level,
    access_level_description: LEVEL_NAMES[level] ?? 'Maintainers',
    deploy_key_id: null,
    user_id: null,
    group_id: null,
  }
}

export function presentProtectedBranch(project: Project, rule: ProtectedBranch) {
  const id = project.protectedBranches.indexOf(rule) + 1
  return {
    id,
    name: rule.name,
    push_access_levels: [presentLevel(id, rule.pushAccessLevel)],
    merge_access_levels: [presentLevel(id, rule.mergeAccessLevel)],
    allow_force_push: rule.allowForcePush ?? false,
    unprotect_access_levels: [],
    code_owner_approval_required: false,
    inherited: false,
  }
}
