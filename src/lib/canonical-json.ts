/**
 * Canonical JSON (RFC 8785): one text for one value, whatever the order its keys were written in, so that equal values
 * have equal hashes. What has no JSON form is refused rather than bent: a NaN that became null, or a lone surrogate that
 * a database stores as U+FFFD, would make two different values look the same.
 */
import { WorkQueueError } from './errors.ts'

/** Keys whose value is undefined are left out, as JSON does. @throws WorkQueueError `not_json`. */
export function canonicalJson(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return canonicalString(value)
    case 'number':
      if (!Number.isFinite(value)) throw notJson('a number that is not finite')
      return JSON.stringify(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      return Array.isArray(value) ? `[${value.map(canonicalJson).join(',')}]` : canonicalObject(value)
    default:
      throw notJson(`a value of type ${typeof value}`)
  }
}

function canonicalObject(value: object): string {
  // Sorting by UTF-16 code units is what the RFC asks for, and what comparing strings does.
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  entries.sort(([left], [right]) => (left < right ? -1 : 1))
  return `{${entries.map(([key, member]) => `${canonicalString(key)}:${canonicalJson(member)}`).join(',')}}`
}

function canonicalString(text: string): string {
  if (!text.isWellFormed()) throw notJson('text with a lone surrogate')
  return JSON.stringify(text)
}

function notJson(what: string): WorkQueueError {
  return new WorkQueueError('not_json', `The value holds ${what}, which has no JSON form.`)
}
