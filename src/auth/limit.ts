/**
 * What a rule is limited to: patterns over projects, source branches or paths. A pattern only ever opens, so whatever is
 * not plainly covered is not covered: a text that is no canonical name matches nothing.
 */
import { compilePatterns, faultOfPattern } from '../lib/glob.ts'

export interface Limit {
  readonly patterns: readonly string[]
  covers(text: string): boolean
}

/** Longer than any name that passes an inspection. */
const MAX_TEXT_LENGTH = 1_024

/** The end of a sentence when the pattern cannot be used, else null. */
export function faultOfLimit(pattern: string): string | null {
  return faultOfPattern(pattern, (example) => (isCanonical(example) ? null : 'is no name that anything has'))
}

/** `nocase`: for names that are one and the same in any case, as projects in GitLab are, and branches and files are not. */
export function createLimit(patterns: readonly string[], { nocase }: { readonly nocase: boolean }): Limit {
  const matches = compilePatterns(patterns, { nocase })
  return { patterns, covers: (text) => isCanonical(text) && matches(text) }
}

function isCanonical(text: string): boolean {
  if (text.length > MAX_TEXT_LENGTH || /[\p{Cc}\\]/u.test(text)) return false
  return text.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..')
}
