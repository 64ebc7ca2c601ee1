/** The hash that tells whether two submissions ask for the same thing. */
import { createHash } from 'node:crypto'
import { writeCanonicalJson } from './canonical-json.ts'

/** Calls of the hash cost more than the bytes of small pieces. */
const BATCH_LENGTH = 4_096

/** SHA-256, 64 lower-case hex digits, over the canonical JSON of the value. @throws WorkQueueError `not_json`. */
export function contentHash(value: unknown): string {
  const hash = createHash('sha256')
  let batch = ''
  writeCanonicalJson(value, (piece) => {
    batch += piece
    if (batch.length < BATCH_LENGTH) return
    hash.update(batch, 'utf8')
    batch = ''
  })
  return hash.update(batch, 'utf8').digest('hex')
}
