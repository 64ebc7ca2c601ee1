/** Callers with a token of OpenShift: rules match by the groups of the token's owner, which are compared exactly. */
import { type Authentication, activate, isExpired, refuse } from './authentication.ts'
import { callerName } from './caller-name.ts'
import type { OpenShiftUsers } from './openshift.ts'
import type { AuthRule } from './rule-config.ts'

/** `users` null: there is no cluster to ask. The answer's function throws IdentityProviderUnavailable. */
export function createOpenShiftCallers(
  rules: readonly AuthRule[],
  users: OpenShiftUsers | null,
  now: () => Date,
): (token: string) => Promise<Authentication> {
  const active = rules.map(activate)
  return async (token) => {
    if (users === null) return refuse('unknown_token')
    const user = await users.userOf(token)
    if (user === null) return refuse('unknown_token')
    const name = callerName('openshift', user.name)
    if (name === null) return refuse('nameless')
    const groups = new Set(user.groups)
    const matched = active.filter(
      (entry) => !isExpired(entry, now()) && entry.rule.groups?.some((one) => groups.has(one)),
    )
    const credential = { kind: 'openshift', issuer: users.url, expiresAt: null } as const
    return { identity: { name, grants: matched.map(({ grant }) => grant), credential } }
  }
}
