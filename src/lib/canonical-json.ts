/**
 * Canonical JSON (RFC 8785): one text for one value, whatever the order its keys were written in, so that equal values
 * have equal hashes. What has no JSON form is refused rather than bent: a NaN that became null, or a lone surrogate that
 * a database stores as U+FFFD, would make two different values look the same.
 */
import { WorkQueueError } from './errors.ts'

/** Keys whose value is undefined are left out, as JSON does. @throws WorkQueueError `not_json`. */
export function canonicalJson(value: unknown): string {
  const pieces: string[] = []
  writeCanonicalJson(value, (piece) => pieces.push(piece))
  return pieces.join('')
}

/**
 * The same text in pieces, each of them well-formed: megabytes that are put together level by level would be copied each time.
 * @throws WorkQueueError `not_json`, when a part may have been written.
 */
export function writeCanonicalJson(value: unknown, write: (piece: string) => void): void {
  if (Array.isArray(value)) writeArray(value, write)
  else if (typeof value === 'object' && value !== null) writeObject(value, write)
  else write(scalar(value))
}

function scalar(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return canonicalString(value)
    case 'number':
      if (!Number.isFinite(value)) throw notJson('a number that is not finite')
      return JSON.stringify(value)
    case 'boolean':
      return value ? 'true' : 'false'
    default:
      if (value === null) return 'null'
      throw notJson(`a value of type ${typeof value}`)
  }
}

function writeArray(values: readonly unknown[], write: (piece: string) => void): void {
  write('[')
  for (const [index, value] of values.entries()) {
    if (index > 0) write(',')
    writeCanonicalJson(value, write)
  }
  write(']')
}

function writeObject(value: object, write: (piece: string) => void): void {
  // Sorting by UTF-16 code units is what the RFC asks for, and what comparing strings does.
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  entries.sort(([left], [right]) => (left < right ? -1 : 1))
  write('{')
  for (const [index, [key, member]] of entries.entries()) {
    write(`${index > 0 ? ',' : ''}${canonicalString(key)}:`)
    writeCanonicalJson(member, write)
  }
  write('}')
}

function canonicalString(text: string): string {
  if (!text.isWellFormed()) throw notJson('text with a lone surrogate')
  return JSON.stringify(text)
}

function notJson(what: string): WorkQueueError {
  return new WorkQueueError('not_json', `The value holds ${what}, which has no JSON form.`)
}
