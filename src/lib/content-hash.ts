/** The hash that tells whether two submissions ask for the same thing. */
import { createHash } from 'node:crypto'
import { canonicalJson } from './canonical-json.ts'

/** SHA-256, 64 lower-case hex digits, over the canonical JSON of the value. @throws WorkQueueError `not_json`. */
export function contentHash(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value), 'utf8').digest('hex')
}
