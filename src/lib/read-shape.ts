/**
 * Reads something from outside with a zod schema and answers with the value or with findings: every fault at once, each
 * with a JSON pointer and a sentence that names the field. It never quotes what was sent, so that a token or a file's
 * content cannot travel back in an error. Messages that a schema brings along are kept as they are.
 */
import type { z } from 'zod'
import { type Finding, MAX_FINDINGS } from './finding.ts'

export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly findings: readonly Finding[] }

/** `whole` names the thing itself in sentences about the top level: `the body`, `the file`. */
export function readShape<T>(schema: z.ZodType<T>, input: unknown, whole = 'the value'): Reading<T> {
  const result = schema.safeParse(input, { reportInput: true, error: (issue) => sentence(issue, whole) })
  if (result.success) return { ok: true, value: result.data }
  const issues = result.error.issues.slice(0, MAX_FINDINGS)
  return { ok: false, findings: issues.flatMap((issue) => findingsOf(issue)).slice(0, MAX_FINDINGS) }
}

/** `['file_actions', 0, 'a/b']` → `/file_actions/0/a~1b` (RFC 6901). */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Of a key that nobody knows; what a caller made up is not sent back at length. */
const MAX_KEY = 60

function findingsOf(issue: z.core.$ZodIssue): Finding[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, MAX_FINDINGS).map((key) => ({
      code: 'unknown_field',
      path: jsonPointer([...issue.path, key.slice(0, MAX_KEY)]),
      message: `${fieldName([...issue.path, key])} is not a known field; remove it or correct its name.`,
    }))
  }
  return [{ code: codeOf(issue), path: jsonPointer(issue.path), message: issue.message }]
}

function codeOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'custom') {
    const code: unknown = issue.params?.['code']
    return typeof code === 'string' ? code : 'invalid_value'
  }
  return issue.input === undefined ? 'required' : issue.code
}

function sentence(issue: z.core.$ZodRawIssue, whole: string): string | undefined {
  const path = issue.path ?? []
  const name = path.length === 0 ? whole : fieldName(path)
  if (issue.input === undefined && issue.code !== 'custom') return `${name} is required.`
  switch (issue.code) {
    case 'invalid_type':
      return `${name} must be ${withArticle(issue.expected)}, but is ${kindOf(issue.input)}.`
    case 'invalid_value':
      return `${name} must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}.`
    case 'too_small':
      return `${name} must ${bound(issue.origin, 'at least', issue.minimum)}.`
    case 'too_big':
      return `${name} must ${bound(issue.origin, 'at most', issue.maximum)}.`
    case 'invalid_format':
      return issue.format === 'regex'
        ? `${name} does not have the required form.`
        : `${name} must be a valid ${issue.format}.`
    case 'invalid_union':
      if (Array.isArray(issue.options)) return `${name} must be one of ${issue.options.map(String).join(', ')}.`
      return `${name} has none of the allowed shapes.`
    default:
      return undefined
  }
}

/** `"file_actions[0].path"`, as people write it. */
function fieldName(path: readonly PropertyKey[]): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key).slice(0, MAX_KEY)}`)).join('')
  return `"${text.replace(/^\./, '')}"`
}

function bound(origin: string, relation: string, limit: number | bigint): string {
  const amount = `${relation} ${limit}`
  const one = Number(limit) === 1
  if (origin === 'string') return `have ${amount} ${one ? 'character' : 'characters'}`
  return origin === 'array' || origin === 'set' ? `have ${amount} ${one ? 'entry' : 'entries'}` : `be ${amount}`
}

function withArticle(kind: string): string {
  const word = kind === 'record' ? 'object' : kind === 'int' ? 'integer' : kind
  return /^[aeio]/.test(word) ? `an ${word}` : `a ${word}`
}

function kindOf(input: unknown): string {
  if (input === null) return 'null'
  if (Array.isArray(input)) return 'an array'
  return withArticle(typeof input)
}
