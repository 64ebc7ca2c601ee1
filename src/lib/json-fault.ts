/**
 * Finds where a text stops being JSON. The engine's own message names a place only sometimes, and quotes the text, which
 * an answer must not do. It runs only after JSON.parse has refused; it keeps a stack of open brackets instead of
 * recursing, so that hostile nesting costs memory in proportion to the text and nothing else.
 */
export interface JsonFault {
  /** From 1. */
  readonly line: number
  /** From 1, in UTF-16 units. */
  readonly column: number
  /** What JSON would have allowed there. */
  readonly expected: string
}

type State = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or ]' | ', or }' | 'end'

const EXPECTED: Readonly<Record<State, string>> = {
  value: 'a value',
  'value or ]': 'a value or "]"',
  key: 'a field name in double quotes',
  'key or }': 'a field name in double quotes or "}"',
  ':': '":" after the field name',
  ', or ]': '"," or "]"',
  ', or }': '"," or "}"',
  end: 'nothing more after the value',
}

const SPACE = /[ \t\n\r]*/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids raw control characters in strings
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const SCALAR = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y

export function locateJsonFault(text: string): JsonFault {
  const open: ('[' | '{')[] = []
  let state: State = 'value'
  let at = 0
  for (;;) {
    at += matchAt(SPACE, text, at) ?? 0
    const next: { state: State; length: number } | null = step(text, at, state, open)
    if (next === null) return describe(text, at, state)
    state = next.state
    at += next.length
  }
}

/** Consumes one token; null when the text has none that fits the state. */
function step(text: string, at: number, state: State, open: ('[' | '{')[]): { state: State; length: number } | null {
  const char = text[at]
  const close = (): { state: State; length: number } => {
    open.pop()
    return { state: afterValue(open), length: 1 }
  }
  if (state === ':') return char === ':' ? { state: 'value', length: 1 } : null
  if (state === ', or ]') return char === ']' ? close() : char === ',' ? { state: 'value', length: 1 } : null
  if (state === ', or }') return char === '}' ? close() : char === ',' ? { state: 'key', length: 1 } : null
  if (state === 'key' || state === 'key or }') {
    if (char === '}' && state === 'key or }') return close()
    const length = matchAt(STRING, text, at)
    return length === null ? null : { state: ':', length }
  }
  if (state === 'end') return null
  if (char === ']' && state === 'value or ]') return close()
  if (char === '[' || char === '{') {
    open.push(char)
    return { state: char === '[' ? 'value or ]' : 'key or }', length: 1 }
  }
  const length = matchAt(STRING, text, at) ?? matchAt(SCALAR, text, at)
  return length === null ? null : { state: afterValue(open), length }
}

function afterValue(open: readonly string[]): State {
  const innermost = open.at(-1)
  return innermost === undefined ? 'end' : innermost === '[' ? ', or ]' : ', or }'
}

function matchAt(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at
  const match = pattern.exec(text)
  return match === null ? null : match[0].length
}

function describe(text: string, at: number, state: State): JsonFault {
  const before = text.slice(0, at)
  const takesText = state.startsWith('value') || state.startsWith('key')
  const unfinished = ' (this text has a bad escape, a raw control character, or no closing quote)'
  const ending = at >= text.length ? ', but the body ends here' : takesText && text[at] === '"' ? unfinished : ''
  return {
    line: before.split('\n').length,
    column: at - before.lastIndexOf('\n'),
    expected: `${EXPECTED[state]}${ending}`,
  }
}
