/**
 * Who is calling and what they may do: the grants of every rule that matched in full. Rights only add up; there are no
 * rules that take away, so the order of rules means nothing. No permission implies another one, except that whoever may
 * do anything with an item type may read its items.
 */
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

/** What one matched rule gives. */
export interface Grant {
  readonly rule: string
  readonly permissions: readonly Permission[]
  readonly itemTypes: '*' | readonly string[]
}

export interface Identity {
  /** Stored with what the caller submits, and shown in the audit: `token:{rule name}`. */
  readonly name: string
  readonly grants: readonly Grant[]
}

/** Names of the rules that allow it; none = not allowed. `itemType` null asks whether it is allowed for any type. */
export function allowingRules(identity: Identity, permission: Permission, itemType: string | null): readonly string[] {
  return identity.grants.filter((grant) => allows(grant, permission, itemType)).map((grant) => grant.rule)
}

export function may(identity: Identity, permission: Permission, itemType: string | null): boolean {
  return allowingRules(identity, permission, itemType).length > 0
}

function allows(grant: Grant, permission: Permission, itemType: string | null): boolean {
  if (permission !== 'read' && !grant.permissions.includes(permission)) return false
  return itemType === null || grant.itemTypes === '*' || grant.itemTypes.includes(itemType)
}
