/**
 * Protected branches: which rule covers a branch, and who may push to it or merge into it. Of several matching rules the
 * most generous one counts, as in GitLab; a branch without a rule is open to developers.
 */
import { DEVELOPER } from './auth.ts'
import type { SandboxContext } from './context.ts'
import type { Project, ProtectedBranch, User } from './state.ts'

function covers(rule: ProtectedBranch, branch: string): boolean {
  if (!rule.name.includes('*')) return rule.name === branch
  const pattern = rule.name
    .split('*')
    .map((part) => part.replace(/[.\\+?^${}()|[\]]/g, '\\$&'))
    .join('.*')
  return new RegExp(`^${pattern}$`, 's').test(branch)
}

export function protectionsOf(project: Project, branch: string): ProtectedBranch[] {
  return project.protectedBranches.filter((rule) => covers(rule, branch))
}

export function isProtected(project: Project, branch: string): boolean {
  return protectionsOf(project, branch).length > 0
}

/** Whether somebody of `level` may do what needs `needed`; 0 means nobody may. */
function reaches(level: number, needed: number): boolean {
  return needed > 0 && level >= needed
}

export function mayPush(context: SandboxContext, project: Project, user: User, branch: string): boolean {
  const level = context.accessLevel(project, user)
  const rules = protectionsOf(project, branch)
  if (project.archived || level < DEVELOPER) return false
  return rules.length === 0 || rules.some((rule) => reaches(level, rule.pushAccessLevel))
}

export function mayMerge(context: SandboxContext, project: Project, user: User, branch: string): boolean {
  if (mayPush(context, project, user, branch)) return true
  const level = context.accessLevel(project, user)
  if (project.archived || level < DEVELOPER) return false
  return protectionsOf(project, branch).some((rule) => reaches(level, rule.mergeAccessLevel))
}

/** Whether the branch may lose commits: never a protected one, unless its rule says so. */
export function mayForcePush(context: SandboxContext, project: Project, user: User, branch: string): boolean {
  if (!mayPush(context, project, user, branch)) return false
  const rules = protectionsOf(project, branch)
  return rules.length === 0 || rules.some((rule) => rule.allowForcePush === true)
}
