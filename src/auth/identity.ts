/**
 * Who is calling and what they may do: the grants of every rule that matched in full. Rights only add up; there are no
 * rules that take away, so the order of rules means nothing. No permission implies another one, except that whoever may
 * do anything with items may read them. One rule has to cover the whole of what is asked: two rules, each for a half of
 * the paths, do not make a third.
 */
import type { CallerKind } from './caller-name.ts'
import type { Limit } from './limit.ts'

/** `overwrite`: to submit what may write over commits of somebody else. */
export type Permission = 'read' | 'submit' | 'overwrite' | 'retry' | 'cancel' | 'admin'

export const PERMISSIONS = [
  'read',
  'submit',
  'overwrite',
  'retry',
  'cancel',
  'admin',
] as const satisfies readonly Permission[]

export function isPermission(name: string): name is Permission {
  return PERMISSIONS.some((permission) => permission === name)
}

/** What one matched rule gives. A limit that is absent limits nothing. */
export interface Grant {
  readonly rule: string
  readonly permissions: readonly Permission[]
  readonly itemTypes: '*' | readonly string[]
  readonly projects?: Limit
  /** Of source branches. */
  readonly branches?: Limit
  /** Of the files that a submission touches; it limits `submit` and `overwrite` alone. */
  readonly paths?: Limit
}

/** What a caller has shown. */
export interface Credential {
  readonly kind: CallerKind
  /** Who has signed it, or vouches for it; null of a static token. */
  readonly issuer: string | null
  /** null: it does not expire, or does not say when. */
  readonly expiresAt: Date | null
}

export interface Identity {
  /** Stored with what the caller submits, and shown in the audit; see `caller-name.ts`. */
  readonly name: string
  readonly grants: readonly Grant[]
  readonly credential: Credential
  /** More about this token for the audit, snake_case: nothing that would let anybody use it. */
  readonly facts?: Readonly<Record<string, string>>
}

/**
 * What a question is about. Leaving out what a rule is limited by is no way around the limit: such a rule then does not
 * cover the question.
 */
export interface Scope {
  readonly itemType: string
  readonly project?: string
  readonly sourceBranch?: string
  /** Every path that is touched, both ends of a move. */
  readonly paths?: readonly string[]
}

/** A text is `{ itemType }`; null asks whether it is allowed for anything at all, before the rest is known. */
export type Question = Scope | string | null

/** Names of the rules that allow it; none = not allowed. */
export function allowingRules(identity: Identity, permission: Permission, about: Question): readonly string[] {
  const scope = typeof about === 'string' ? { itemType: about } : about
  return identity.grants.filter((grant) => allows(grant, permission, scope)).map((grant) => grant.rule)
}

/** What the caller may read of one item type, for lists: everything, or what is within the limits of one of its rules. */
export function readable(identity: Identity, itemType: string): 'all' | 'some' | 'none' {
  if (may(identity, 'read', itemType)) return 'all'
  const hasAny = identity.grants.some(({ itemTypes }) => itemTypes === '*' || itemTypes.includes(itemType))
  return hasAny ? 'some' : 'none'
}

export function may(identity: Identity, permission: Permission, about: Question): boolean {
  return allowingRules(identity, permission, about).length > 0
}

function allows(grant: Grant, permission: Permission, scope: Scope | null): boolean {
  if (permission !== 'read' && !grant.permissions.includes(permission)) return false
  if (scope === null) return true
  if (grant.itemTypes !== '*' && !grant.itemTypes.includes(scope.itemType)) return false
  const { project, sourceBranch, paths } = scope
  const writes = permission === 'submit' || permission === 'overwrite'
  return (
    covers(grant.projects, project === undefined ? undefined : [project]) &&
    covers(grant.branches, sourceBranch === undefined ? undefined : [sourceBranch]) &&
    (!writes || covers(grant.paths, paths))
  )
}

function covers(limit: Limit | undefined, asked: readonly string[] | undefined): boolean {
  if (limit === undefined) return true
  return asked?.every((text) => limit.covers(text)) ?? false
}
