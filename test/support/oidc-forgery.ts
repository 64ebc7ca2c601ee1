/** Tokens signed by hand, so that a test can write what no library would: every byte of header and payload is its own. */
import { createHmac, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import type { OAuth2Issuer } from 'oauth2-mock-server'

export type Signer = (input: string) => Buffer

/** An object, or JSON (or none) as it is. */
type Part = object | string | Buffer

export function forge(header: Part, payload: Part, signer: Signer): string {
  const input = `${encode(header)}.${encode(payload)}`
  return `${input}.${signer(input).toString('base64url')}`
}

export function rs256(key: KeyObject): Signer {
  return (input) => sign('RSA-SHA256', Buffer.from(input), key)
}

export function hs256(secret: string | Buffer): Signer {
  return (input) => createHmac('sha256', secret).update(input).digest()
}

/** The key that an issuer signs with. */
export function privateKeyOf(issuer: OAuth2Issuer, kid: string): KeyObject {
  const jwk = issuer.keys.toJSON(true).find((key) => key.kid === kid)
  if (jwk === undefined) throw new Error(`the issuer has no key ${kid}`)
  return createPrivateKey({ key: jwk, format: 'jwk' })
}

function encode(part: Part): string {
  const bytes = Buffer.isBuffer(part) ? part : Buffer.from(typeof part === 'string' ? part : JSON.stringify(part))
  return bytes.toString('base64url')
}
