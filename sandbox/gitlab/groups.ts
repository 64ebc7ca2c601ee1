/** Groups: who belongs to one, and which groups are above a path. A group of a path that nobody made has no members. */
import type { SandboxContext } from './context.ts'
import type { Group, State } from './state.ts'

/** By number, or by full path in any case. */
export function findGroup(state: State, idOrPath: number | string): Group | null {
  const text = String(idOrPath)
  const path = text.toLowerCase()
  const fits = (group: Group) =>
    /^\d+$/.test(text) ? group.id === Number(text) : group.fullPath.toLowerCase() === path
  return state.groups.find(fits) ?? null
}

/** The groups that hold what has this full path, the outermost first. */
export function groupsAbove(state: State, fullPath: string): Group[] {
  const path = fullPath.toLowerCase()
  return state.groups
    .filter((group) => path.startsWith(`${group.fullPath.toLowerCase()}/`))
    .sort((a, b) => a.fullPath.length - b.fullPath.length)
}

/** The access level of a member of the group or of one above it; 0 for others. */
export function groupLevel(state: State, group: Group, userId: number): number {
  const all = [group, ...groupsAbove(state, group.fullPath)]
  return Math.max(...all.map(({ members }) => members[userId] ?? 0))
}

export interface NewGroup {
  /** Such as `platform/reviewers`. */
  readonly fullPath: string
  /** Access level by user id. */
  readonly members?: Readonly<Record<number, number>>
}

/** Throws when the path is taken. */
export function createGroup(context: SandboxContext, { fullPath, members }: NewGroup): Group {
  if (context.findGroup(fullPath)) throw new Error(`group ${fullPath} exists already`)
  const group: Group = { id: context.nextId(), fullPath, members: { ...members } }
  context.state.groups.push(group)
  context.save()
  return group
}
