/**
 * Glob patterns over canonical paths, branch names and labels. The options are the security part: by default a `*` skips
 * dotfiles, and the richer syntax (extended globs, negation) is how a pattern comes to mean something else than it says
 * or to need exponential time.
 */
import picomatch from 'picomatch'

export type Matcher = (text: string) => boolean

const MAX_PATTERN_LENGTH = 256

/**
 * One sentence when the pattern cannot be used, else null. A pattern that can match nothing is a rule that its author believes
 * in and nobody keeps, so each must match an example made from itself, and the example must be a text that can occur.
 */
export function faultOfPattern(pattern: string, faultOfExample: (example: string) => string | null): string | null {
  if (pattern === '') return 'is empty'
  if (pattern.length > MAX_PATTERN_LENGTH) return `is longer than ${MAX_PATTERN_LENGTH} characters`
  if (pattern.startsWith('!')) return 'starts with !, but a pattern cannot be negated'
  if (pattern.startsWith('/') || pattern.startsWith('./')) return 'must start with a name, * or **'
  if (/[?*+@!]\(/.test(pattern)) return 'is an extended glob, which is not supported'
  const example = exampleOf(pattern)
  const fault = faultOfExample(example)
  if (fault !== null) return `can match nothing: ${JSON.stringify(example)} ${fault}`
  if (compilePatterns([pattern], { nocase: false })(example)) return null
  return `does not match ${JSON.stringify(example)}, as it should; put a backslash before what is no wildcard`
}

/** True for a text that matches any of the patterns. */
export function compilePatterns(patterns: readonly string[], { nocase }: { readonly nocase: boolean }): Matcher {
  const matchers = patterns.map((pattern) => picomatch(pattern, { dot: true, nocase, noextglob: true, nonegate: true }))
  return (text) => matchers.some((matches) => matches(text))
}

const PART =
  /\\(?<escaped>.)|\*+|\?|\[(?<negated>[!^])?(?<first>\\?.)[^\]]*\]|\{(?<choice>[^,{}]*)[^{}]*\}|(?<plain>.)/gsu

/** The simplest text that the pattern should match. */
function exampleOf(pattern: string): string {
  return pattern.replace(PART, (...found: unknown[]) => {
    const { escaped, negated, first, choice, plain } = found.at(-1) as Record<string, string | undefined>
    return escaped ?? plain ?? choice ?? (negated === undefined ? first?.at(-1) : undefined) ?? 'x'
  })
}
