/**
 * Turns an Authorization header into an identity, or into a refusal with the reason for the log: the caller is told the
 * same for every cause. A bearer token is sent to the method for its shape; today there is one, the static token. It
 * answers a promise because the methods that ask an issuer or a cluster need one.
 */
import { timingSafeEqual } from 'node:crypto'
import type { AuthConfig, AuthRule } from './config.ts'
import type { Identity } from './identity.ts'
import { isStaticToken, tokenDigest } from './token.ts'

export type RefusalReason = 'missing' | 'duplicated_header' | 'malformed' | 'unknown_token' | 'expired'

export type Authentication =
  | { readonly identity: Identity }
  | { readonly identity: null; readonly reason: RefusalReason; readonly rules: readonly string[] }

export interface Authenticator {
  /** Takes every Authorization header of the request: Node itself would silently keep the first of two. */
  authenticate(authorizationHeaders: readonly string[]): Promise<Authentication>
}

const MAX_HEADER_LENGTH = 8_192
const BEARER = /^Bearer ([A-Za-z0-9._~+/-]+=*)$/i

/** `now` is the process's clock: a rule's expiry is a matter of days. */
export function createAuthenticator(config: AuthConfig, now: () => Date = () => new Date()): Authenticator {
  const rules = config.rules.map((rule) => ({ rule, digest: Buffer.from(rule.token_sha256, 'hex') }))

  return {
    async authenticate(headers) {
      const [header, ...others] = headers
      if (header === undefined) return refuse('missing')
      if (others.length > 0) return refuse('duplicated_header')
      const token = header.length <= MAX_HEADER_LENGTH ? BEARER.exec(header)?.[1] : undefined
      if (token === undefined || !isStaticToken(token)) return refuse('malformed')
      return authenticateStaticToken(token)
    },
  }

  function authenticateStaticToken(token: string): Authentication {
    const digest = tokenDigest(token)
    // Every rule is compared, also after a match, so that the time tells nothing about the list.
    const matched = rules.filter((entry) => timingSafeEqual(entry.digest, digest)).map((entry) => entry.rule)
    const [rule] = matched
    if (rule === undefined) return refuse('unknown_token')
    if (rule.expires_at !== undefined && rule.expires_at <= now()) return refuse('expired', [rule.name])
    return { identity: identityOf(rule) }
  }
}

function identityOf(rule: AuthRule): Identity {
  return {
    name: `token:${rule.name}`,
    grants: [{ rule: rule.name, permissions: rule.permissions, itemTypes: rule.item_types }],
  }
}

function refuse(reason: RefusalReason, rules: readonly string[] = []): Authentication {
  return { identity: null, reason, rules }
}
