/** Callers with a static token: each rule that holds a digest is a caller of its own. */
import { timingSafeEqual } from 'node:crypto'
import { type Authentication, activate, isExpired, refuse } from './authentication.ts'
import type { AuthRule } from './rule-config.ts'
import { tokenDigest } from './token.ts'

export function createStaticCallers(rules: readonly AuthRule[], now: () => Date): (token: string) => Authentication {
  const entries = rules.flatMap((rule) =>
    rule.token_sha256 === undefined ? [] : [{ active: activate(rule), digest: Buffer.from(rule.token_sha256, 'hex') }],
  )
  return (token) => {
    const digest = tokenDigest(token)
    // Every rule is compared, also after a match, so that the time tells nothing about the list.
    const [match] = entries.filter((entry) => timingSafeEqual(entry.digest, digest))
    if (match === undefined) return refuse('unknown_token')
    const { name } = match.active.rule
    if (isExpired(match.active, now())) return refuse('expired', [name])
    const credential = { kind: 'token', issuer: null, expiresAt: match.active.rule.expires_at ?? null } as const
    return { identity: { name: `token:${name}`, grants: [match.active.grant], credential } }
  }
}
