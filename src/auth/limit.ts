/**
 * What a rule is limited to: patterns over projects, source branches or paths. A pattern only ever opens, so whatever is
 * not plainly covered is not covered: a text that is no canonical name matches nothing. The options are the security part:
 * without them a `*` skips dotfiles, and extended globs and negation make a pattern mean something else than it says.
 */
import picomatch from 'picomatch'

export interface Limit {
  readonly patterns: readonly string[]
  covers(text: string): boolean
}

const MAX_PATTERN_LENGTH = 256
/** Longer than any name that passes an inspection. */
const MAX_TEXT_LENGTH = 1_024

/** The end of a sentence when the pattern cannot be used, else null. */
export function faultOfPattern(pattern: string): string | null {
  if (pattern === '') return 'is empty'
  if (pattern.length > MAX_PATTERN_LENGTH) return `is longer than ${MAX_PATTERN_LENGTH} characters`
  if (pattern.startsWith('!')) return 'starts with !, but rules only give rights and never take any away'
  if (pattern.startsWith('/') || pattern.startsWith('./')) return 'must start with a name, * or **'
  return null
}

/** `nocase`: for names that are one and the same in any case, as projects in GitLab are, and branches and files are not. */
export function createLimit(patterns: readonly string[], { nocase }: { readonly nocase: boolean }): Limit {
  const matchers = patterns.map((pattern) => picomatch(pattern, { dot: true, nocase, noextglob: true, nonegate: true }))
  return {
    patterns,
    covers: (text) => isCanonical(text) && matchers.some((matches) => matches(text)),
  }
}

function isCanonical(text: string): boolean {
  if (text.length > MAX_TEXT_LENGTH || /[\p{Cc}\\]/u.test(text)) return false
  return text.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..')
}
