/**
 * Glob patterns over canonical paths and branch names. The options are the security part: by default a `*` skips
 * dotfiles, and the richer syntax (extended globs, negation) is how a pattern comes to mean something else than it says
 * or to need exponential time.
 */
import picomatch from 'picomatch'

export type Matcher = (text: string) => boolean

const MAX_PATTERN_LENGTH = 256

/** One sentence when the pattern cannot be used, else null. */
export function faultOfPattern(pattern: string): string | null {
  if (pattern === '') return 'is empty'
  if (pattern.length > MAX_PATTERN_LENGTH) return `is longer than ${MAX_PATTERN_LENGTH} characters`
  if (pattern.startsWith('!')) return 'starts with !, but patterns cannot be negated'
  if (pattern.startsWith('/') || pattern.startsWith('./')) return 'must start with a name, * or **'
  return null
}

/** True for a text that matches any of the patterns. */
export function compilePatterns(patterns: readonly string[], { nocase }: { readonly nocase: boolean }): Matcher {
  const matchers = patterns.map((pattern) => picomatch(pattern, { dot: true, nocase, noextglob: true, nonegate: true }))
  return (text) => matchers.some((matches) => matches(text))
}
