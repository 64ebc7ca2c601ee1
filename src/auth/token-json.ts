/**
 * The two JSON objects of a token, read more strictly than JSON.parse does: no name twice in an object, since two readers
 * could each believe another of the two, and no deep nesting, which is found before anything is built. The caller bounds
 * the length.
 */
import { isUtf8 } from 'node:buffer'

const MAX_DEPTH = 16

/** Strings, brackets, separators, and what else there is. A string without an end is one too, so that the time is linear. */
const TOKENS = /"(?:[^"\\]|\\.?)*"?|[[\]{},:]|[^\s[\]{},:"]+/gs

/** null: it is no JSON object that may be read. */
export function parseTokenJson(bytes: Buffer): Readonly<Record<string, unknown>> | null {
  if (!isUtf8(bytes)) return null
  const text = bytes.toString('utf8')
  try {
    if (!isPlain(text)) return null
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** Of a text that may be no JSON at all, in which case JSON.parse refuses it afterwards. */
function isPlain(text: string): boolean {
  // The names of each open object; null for an open list.
  const open: (Set<string> | null)[] = []
  let previous = ''
  for (const [token] of text.matchAll(TOKENS)) {
    const names = open.at(-1)
    if (token === '{' || token === '[') {
      if (open.push(token === '{' ? new Set() : null) > MAX_DEPTH) return false
    } else if (token === '}' || token === ']') {
      open.pop()
    } else if (names && token.startsWith('"') && (previous === '{' || previous === ',')) {
      // Escapes are undone: "\u0069ss" is "iss".
      const name = String(JSON.parse(token))
      if (names.has(name)) return false
      names.add(name)
    }
    previous = token
  }
  return true
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
