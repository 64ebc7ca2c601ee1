/**
 * Which file paths a submission may touch. A path in its canonical spelling is seen by the block list, the rule about dot
 * directories, and the project's allow list; all must pass.
 */

import { compilePatterns, type Matcher } from '../../../lib/glob.ts'
import { DEFAULT_BLOCK_LIST } from './block-list.ts'
import type { ProjectPolicy } from './config.ts'
import { faultOfSpelling, foldPath, type SpellingFault } from './path-spelling.ts'

export type PathFault =
  | SpellingFault
  | { readonly code: 'path_characters' | 'path_blocked' | 'path_dot_directory' | 'path_not_allowed' }

export interface PathRules {
  /** What is wrong with touching this path; null when it may be touched. */
  judge(path: string): PathFault | null
}

const PLAIN = /^[A-Za-z0-9._+@ /-]*$/

export function compilePathRules(policy: ProjectPolicy): PathRules {
  const isBlocked = compileBlockList(policy)
  const isInDotDirectory = compileDotDirectories(policy)
  const isAllowed =
    policy.allow_paths === undefined ? () => true : compilePatterns(policy.allow_paths, { nocase: false })
  return {
    judge(path) {
      const fault = faultOfSpelling(path)
      if (fault !== null) return fault
      if (!policy.any_characters_in_paths && !PLAIN.test(path)) return { code: 'path_characters' }
      if (isBlocked(path)) return { code: 'path_blocked' }
      if (isInDotDirectory(path)) return { code: 'path_dot_directory' }
      return isAllowed(path) ? null : { code: 'path_not_allowed' }
    },
  }
}

/** Every entry of the default block list that holds in this project, and the project's own. */
function blockListOf({ block_paths, unblock_paths }: ProjectPolicy): readonly string[] {
  return [...DEFAULT_BLOCK_LIST.filter((pattern) => !unblock_paths.includes(pattern)), ...block_paths]
}

/**
 * A blocked path is also touched through its directories: deleting `docs` deletes `docs/CODEOWNERS`, and a file
 * `CODEOWNERS/x` replaces CODEOWNERS by a directory. So a path is blocked when it, or a directory it lies in, matches a
 * pattern, or when it is a directory of a pattern's literal beginning.
 */
function compileBlockList(policy: ProjectPolicy): Matcher {
  const patterns = blockListOf(policy)
  const matches = compilePatterns(patterns, { nocase: true })
  const directories = new Set(patterns.flatMap(literalDirectories).map(foldPath))
  const isBlocked = (path: string) => directories.has(path) || withParents(path).some(matches)
  return (path) => {
    const folded = foldPath(path)
    return isBlocked(folded) || (folded !== path.toLowerCase() && isBlocked(path))
  }
}

/** `a/b/c` → `a`, `a/b`, `a/b/c`. */
function withParents(path: string): readonly string[] {
  const segments = path.split('/')
  return segments.map((_, index) => segments.slice(0, index + 1).join('/'))
}

/** `a/b/*.yml` → `a`, `a/b`. */
function literalDirectories(pattern: string): readonly string[] {
  const segments = pattern.split('/')
  const firstGlob = segments.findIndex((segment) => /[*?[\]{}()\\]/.test(segment))
  const literal = firstGlob === -1 ? segments.slice(0, -1) : segments.slice(0, firstGlob)
  return literal.map((_, index) => literal.slice(0, index + 1).join('/'))
}

/** Lifting the entry `.tekton/**` of the block list says all there is to say about `.tekton`. */
function compileDotDirectories({ dot_directories, unblock_paths }: ProjectPolicy): Matcher {
  const listed = new Set(dot_directories)
  const lifted = compilePatterns(
    unblock_paths.flatMap((pattern) => /^(?:\*\*\/)?(\.[^/]+)\/\*\*$/.exec(pattern)?.[1] ?? []),
    { nocase: false },
  )
  return (path) => {
    const [top = '', ...below] = path.split('/')
    return below.length > 0 && foldPath(top).startsWith('.') && !listed.has(top) && !lifted(top)
  }
}
