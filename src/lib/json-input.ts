/**
 * JSON from outside, read strictly: the bytes must be UTF-8 (a decoder would repair them silently), the text must be
 * JSON, and when it is not, the error says where and what was expected, so that a person finds the comma. What is wrong
 * inside strings is a second question: `unstorableText` finds what PostgreSQL would refuse or change.
 */
import { isUtf8 } from 'node:buffer'
import { WorkQueueError } from './errors.ts'
import type { Finding } from './finding.ts'
import { locateJsonFault } from './json-fault.ts'
import { jsonPointer } from './read-shape.ts'

/** Nesting beyond this is nobody's document; it would exhaust the stack of whoever walks it. */
export const MAX_JSON_DEPTH = 64

/** @throws WorkQueueError `invalid_utf8`, `malformed_json`. */
export function parseJson(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) {
    throw new WorkQueueError('invalid_utf8', 'The body is not valid UTF-8; send JSON encoded as UTF-8.')
  }
  const text = new TextDecoder().decode(bytes)
  try {
    return JSON.parse(text)
  } catch (error) {
    const { line, column, expected } = locateJsonFault(text)
    throw new WorkQueueError(
      'malformed_json',
      `The body is not valid JSON: line ${line}, column ${column}: expected ${expected}.`,
      { cause: error, facts: { line, column } },
    )
  }
}

/**
 * Findings for text, keys and numbers that a database could not keep as they are: NUL, lone surrogates, `__proto__`
 * keys, numbers beyond a double, nesting deeper than MAX_JSON_DEPTH, more than MAX_JSON_VALUES values. At most ten.
 */
export function unstorableText(document: unknown): readonly Finding[] {
  const walk: Walk = { findings: [], path: [], values: 0 }
  visit(document, walk)
  return walk.findings
}

/** Far above any submission, and far below what would hold the process while it is looked at value by value. */
const MAX_JSON_VALUES = 200_000

interface Walk {
  readonly findings: Finding[]
  readonly path: PropertyKey[]
  values: number
}

const MAX_FINDINGS = 10

function visit(value: unknown, walk: Walk): void {
  const { findings, path } = walk
  if (findings.length >= MAX_FINDINGS || walk.values > MAX_JSON_VALUES) return
  const found = (code: string, message: string) => findings.push({ code, path: jsonPointer(path), message })
  walk.values += 1
  if (walk.values > MAX_JSON_VALUES) {
    found('too_many_values', `The document holds more than ${MAX_JSON_VALUES} values; split it.`)
  } else if (typeof value === 'string') {
    const fault = textFault(value)
    if (fault) found('invalid_text', `The text here ${fault}; remove it, or send the content as base64.`)
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) found('invalid_number', 'The number here is too large.')
  } else if (typeof value === 'object' && value !== null) {
    if (path.length >= MAX_JSON_DEPTH) found('too_deep', `The document is nested deeper than ${MAX_JSON_DEPTH} levels.`)
    else visitChildren(value, walk, found)
  }
}

function visitChildren(value: object, walk: Walk, found: (code: string, message: string) => void): void {
  const visitChild = (key: PropertyKey, child: unknown) => {
    walk.path.push(key)
    visit(child, walk)
    walk.path.pop()
  }
  const isOver = () => walk.findings.length >= MAX_FINDINGS || walk.values > MAX_JSON_VALUES
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && !isOver(); index += 1) visitChild(index, value[index])
    return
  }
  // Not Object.entries: a million pairs would be made before the first is looked at.
  for (const key in value) {
    if (isOver()) return
    if (textFault(key)) found('invalid_text', `A key of this object ${textFault(key)}.`)
    else if (key === '__proto__') found('unknown_field', 'A key of this object is "__proto__"; remove it.')
    else visitChild(key, (value as Readonly<Record<string, unknown>>)[key])
  }
}

function textFault(text: string): string | null {
  if (text.includes('\0')) return 'contains a NUL character'
  return text.isWellFormed() ? null : 'contains half of a surrogate pair'
}
