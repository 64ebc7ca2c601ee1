/**
 * Static tokens: `wq_` and 32 random bytes as base64url. The prefix lets a token be told from every other kind by its
 * shape alone, and by secret scanners; the length leaves nothing to guess, so one round of SHA-256 is enough to store.
 */
import { createHash, randomBytes } from 'node:crypto'

const TOKEN_SHAPE = /^wq_[A-Za-z0-9_-]{43}$/

export function newToken(): { readonly token: string; readonly sha256: string } {
  const token = `wq_${randomBytes(32).toString('base64url')}`
  return { token, sha256: tokenDigest(token).toString('hex') }
}

export function isStaticToken(text: string): boolean {
  return TOKEN_SHAPE.test(text)
}

/** 32 bytes. */
export function tokenDigest(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest()
}
