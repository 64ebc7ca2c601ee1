/**
 * Verifies a token of one issuer: signature by that issuer's keys, algorithm from its list, and the claims that any token
 * must have, with values that mean something. What the claims permit is decided elsewhere.
 */
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { IdentityProviderUnavailable } from './unavailable.ts'

export interface VerifyOptions {
  readonly issuer: string
  readonly algorithms: readonly string[]
  readonly maxLifetimeMs: number
  readonly findKey: JWTVerifyGetKey
  readonly now: Date
}

export type JwtRefusal = 'expired' | 'not_yet_valid' | 'lives_too_long' | 'bad_claims' | 'bad_signature'

export type Verification =
  | { readonly ok: true; readonly claims: JWTPayload; readonly subject: string }
  | { readonly ok: false; readonly reason: JwtRefusal }

/** Clocks differ. */
const TOLERANCE_S = 30

/** @throws IdentityProviderUnavailable. */
export async function verifyJwt(token: string, options: VerifyOptions): Promise<Verification> {
  const { issuer, algorithms, maxLifetimeMs, findKey, now } = options
  const maxLifetimeS = maxLifetimeMs / 1_000
  try {
    const { payload } = await jwtVerify(token, findKey, {
      issuer,
      algorithms: [...algorithms],
      requiredClaims: ['exp', 'iat', 'sub', 'aud'],
      clockTolerance: TOLERANCE_S,
      maxTokenAge: maxLifetimeS,
      currentDate: now,
    })
    return checkClaims(payload, maxLifetimeS)
  } catch (error) {
    if (error instanceof IdentityProviderUnavailable) throw error
    return { ok: false, reason: reasonOf(error) }
  }
}

/** What jose leaves open: an `exp` of 1e999 is a number, and a token for ten years is valid today. */
function checkClaims(claims: JWTPayload, maxLifetimeS: number): Verification {
  const { exp, iat, sub, aud } = claims
  if (!isTime(exp) || !isTime(iat) || typeof sub !== 'string' || sub === '' || !isAudience(aud)) {
    return { ok: false, reason: 'bad_claims' }
  }
  if (exp - iat > maxLifetimeS) return { ok: false, reason: 'lives_too_long' }
  return { ok: true, claims, subject: sub }
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0
}

function isAudience(value: unknown): boolean {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  return items.length > 0 && items.every((item) => typeof item === 'string')
}

function reasonOf(error: unknown): JwtRefusal {
  if (error instanceof errors.JWTExpired) return error.claim === 'iat' ? 'lives_too_long' : 'expired'
  if (error instanceof errors.JWTClaimValidationFailed) {
    const early = error.reason === 'check_failed' && (error.claim === 'nbf' || error.claim === 'iat')
    return early ? 'not_yet_valid' : 'bad_claims'
  }
  return error instanceof errors.JWTInvalid ? 'bad_claims' : 'bad_signature'
}
