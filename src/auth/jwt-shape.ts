/**
 * A JSON Web Token, taken apart without believing any of it. What is found here only chooses the issuer whose keys are to
 * verify it; all that costs something or leaves the process comes after these checks. What a header says about where keys
 * are (`jku`, `x5u`, `jwk`, `x5c`) is never looked at.
 */
import { parseTokenJson } from './token-json.ts'

export interface UnverifiedJwt {
  readonly issuer: string
  readonly algorithm: string
}

const MAX_KID_LENGTH = 256

export function looksLikeJwt(token: string): boolean {
  return token.split('.').length === 3
}

/** null: it is no token that any issuer of ours makes. The header that the token came in bounds its length. */
export function readUnverifiedJwt(token: string): UnverifiedJwt | null {
  const [header, payload, signature] = token.split('.').map(decode)
  if (!header || !payload || !signature) return null
  const { alg, typ, kid, ...headerRest } = parseTokenJson(header) ?? {}
  if (typeof alg !== 'string') return null
  if (typ !== undefined && (typeof typ !== 'string' || typ.toUpperCase() !== 'JWT')) return null
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > MAX_KID_LENGTH)) return null
  // Extensions that change what a signature means; no issuer of ours uses any.
  if (Object.hasOwn(headerRest, 'crit') || Object.hasOwn(headerRest, 'b64') || Object.hasOwn(headerRest, 'zip')) {
    return null
  }
  const issuer = parseTokenJson(payload)?.['iss']
  return typeof issuer === 'string' ? { issuer, algorithm: alg } : null
}

/** What it claims, whoever wrote it: for explaining, never for deciding. */
export function unverifiedClaims(token: string): Readonly<Record<string, unknown>> {
  const payload = decode(token.split('.')[1] ?? '')
  return (payload === null ? null : parseTokenJson(payload)) ?? {}
}

/** Node decodes whatever it can; a part has one spelling here. */
function decode(part: string): Buffer | null {
  if (!/^[A-Za-z0-9_-]+$/.test(part)) return null
  const bytes = Buffer.from(part, 'base64url')
  return bytes.toString('base64url') === part ? bytes : null
}
