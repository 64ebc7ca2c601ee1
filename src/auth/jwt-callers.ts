/**
 * Callers with a JSON Web Token. The issuer that the token claims chooses, by its exact name, one set of keys, one list of
 * algorithms and one set of rules; a token whose issuer no rule names is refused without asking anybody.
 */
import type { JWTPayload, JWTVerifyGetKey } from 'jose'
import { type ActiveRule, type Authentication, activate, isExpired, refuse } from './authentication.ts'
import { callerName } from './caller-name.ts'
import { unmetConditions } from './claim-matching.ts'
import type { IssuerSettings } from './config.ts'
import type { Credential } from './identity.ts'
import { CLUSTER_ISSUER } from './issuer-url.ts'
import { readUnverifiedJwt } from './jwt-shape.ts'
import { type AuthClock, IdentityProviderUnavailable } from './unavailable.ts'
import { verifyJwt } from './verify-jwt.ts'

export interface JwtIssuer {
  readonly settings: IssuerSettings
  readonly findKey: JWTVerifyGetKey
  /** The `iss` of its tokens; null: it is not known yet. */
  readonly name: () => string | null
}

const LOOK_AGAIN_MS = 5_000
const SERVICE_ACCOUNT = /^system:serviceaccount:([a-z0-9-]{1,63}):([a-z0-9.-]{1,253})$/

/** The answer's function throws IdentityProviderUnavailable. */
export function createJwtCallers(
  issuers: readonly JwtIssuer[],
  clock: AuthClock,
): (token: string) => Promise<Authentication> {
  const entries = issuers.map((issuer) => ({ ...issuer, rules: issuer.settings.rules.map(activate) }))

  return async (token) => {
    const unverified = readUnverifiedJwt(token)
    if (unverified === null) return refuse('malformed')
    const issuer = entries.find((entry) => entry.name() === unverified.issuer)
    if (issuer === undefined) {
      if (entries.every((entry) => entry.name() !== null)) return refuse('unknown_issuer')
      // It may be the one that is still being looked for.
      throw new IdentityProviderUnavailable(CLUSTER_ISSUER, 'its issuer is not known yet', LOOK_AGAIN_MS)
    }
    const { settings, findKey, rules } = issuer
    if (!settings.algorithms.some((algorithm) => algorithm === unverified.algorithm)) {
      return refuse('algorithm_not_allowed')
    }
    const now = clock.now()
    const verification = await verifyJwt(token, {
      issuer: unverified.issuer,
      algorithms: settings.algorithms,
      maxLifetimeMs: settings.max_lifetime,
      findKey,
      now,
    })
    if (!verification.ok) return refuse(verification.reason)
    return judge(rules, settings, verification, now)
  }
}

interface Verified {
  readonly claims: JWTPayload
  readonly subject: string
}

function judge(
  rules: readonly ActiveRule[],
  { issuer, alias }: IssuerSettings,
  { claims, subject }: Verified,
  now: Date,
): Authentication {
  const looks = rules.map((entry) => ({ entry, unmet: unmetConditions(entry.rule.claims ?? {}, claims) }))
  if (looks.every(({ unmet }) => unmet.includes('aud'))) return refuse('foreign_audience')
  const name = issuer === CLUSTER_ISSUER ? serviceAccountName(subject) : callerName('jwt', alias, subject)
  if (name === null) return refuse('nameless')
  const matched = looks.filter(({ entry, unmet }) => unmet.length === 0 && !isExpired(entry, now))
  const credential: Credential = {
    kind: issuer === CLUSTER_ISSUER ? 'k8s' : 'jwt',
    issuer: claims.iss ?? null,
    expiresAt: claims.exp === undefined ? null : new Date(claims.exp * 1_000),
  }
  return { identity: { name, grants: matched.map(({ entry }) => entry.grant), credential, facts: factsOf(claims) } }
}

/** The token's own id, by which its issuer can tell which job or session it was made for. */
function factsOf({ jti: id }: JWTPayload): Readonly<Record<string, string>> {
  return typeof id === 'string' && /^[A-Za-z0-9._~:/+=-]{1,128}$/.test(id) ? { token_id: id } : {}
}

function serviceAccountName(subject: string): string | null {
  const [, namespace, account] = SERVICE_ACCOUNT.exec(subject) ?? []
  return namespace === undefined || account === undefined ? null : callerName('k8s', namespace, account)
}
