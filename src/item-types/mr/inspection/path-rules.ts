/**
 * Which file paths a submission may touch. A path must be written in its one canonical spelling, else it is refused and
 * never cleaned: GitLab cleans `docs/../.gitlab-ci.yml` itself, so a path that was repaired here would be another one
 * there. Only then do the block list and the project's allow list see it; both must pass.
 */
import { DEFAULT_BLOCK_LIST } from './block-list.ts'
import { compilePatterns, type Matcher } from './glob.ts'
import type { ProjectPolicy } from './policy.ts'

export interface PathFault {
  readonly code: 'path_not_canonical' | 'path_reserved' | 'path_characters' | 'path_blocked' | 'path_not_allowed'
  readonly message: string
}

export interface PathRules {
  /** What is wrong with touching this path; null when it may be touched. */
  judge(path: string): PathFault | null
}

const MAX_BYTES = 1_024
const MAX_SEGMENTS = 32
const MAX_SEGMENT_BYTES = 255

/** Controls, format characters (bidi, joiners, BOM), private use, surrogates, line and paragraph separators. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
const PLAIN = /^[A-Za-z0-9._+@ /-]*$/
/** Names that Windows gives to devices, with any extension. */
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i
/** The names beginning with `.git` that are ordinary files of a project, in their one spelling. */
const KNOWN_GIT_NAMES = /^\.git(ignore|keep|attributes|modules|hooks|lab|hub|lab-ci[\w.-]*\.ya?ml)$/
/** What Windows' short names make of `.git`. */
const SHORT_GIT_NAMES = /^(git~\d|gi[0-9a-f]{4}~\d)/i

export function compilePathRules(policy: ProjectPolicy): PathRules {
  const blocked = compileBlockList(policy)
  const allowed = policy.allow_paths === undefined ? null : compilePatterns(policy.allow_paths, { nocase: false })
  return {
    judge(path) {
      const fault = faultOfSpelling(path)
      if (fault !== null) return fault
      if (!policy.any_characters_in_paths && !PLAIN.test(path)) {
        return refuse(
          'path_characters',
          'has characters that this project does not allow in paths (A-Z a-z 0-9 . _ + @ space / -)',
        )
      }
      if (blocked(path)) return refuse('path_blocked', 'is on the block list; it must be changed by a person')
      if (allowed !== null && !allowed(path)) {
        return refuse('path_not_allowed', 'matches none of the paths that this project allows')
      }
      return null
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
  const directories = new Set(patterns.flatMap(literalDirectories).map((directory) => directory.toLowerCase()))
  return (path) => {
    const segments = path.split('/')
    if (directories.has(path.toLowerCase())) return true
    return segments.some((_, index) => matches(segments.slice(0, index + 1).join('/')))
  }
}

/** `a/b/*.yml` → `a`, `a/b`. */
function literalDirectories(pattern: string): readonly string[] {
  const segments = pattern.split('/')
  const firstGlob = segments.findIndex((segment) => /[*?[\]{}()\\]/.test(segment))
  const literal = firstGlob === -1 ? segments.slice(0, -1) : segments.slice(0, firstGlob)
  return literal.map((_, index) => literal.slice(0, index + 1).join('/'))
}

function faultOfSpelling(path: string): PathFault | null {
  if (!path.isWellFormed() || path === '' || Buffer.byteLength(path) > MAX_BYTES) {
    return notCanonical(`must be 1 to ${MAX_BYTES} bytes of well-formed text`)
  }
  if (INVISIBLE.test(path)) return notCanonical('holds control or invisible characters')
  if (path !== path.normalize('NFC')) return notCanonical('is not in Unicode normal form C')
  if (/[\\:]/.test(path)) return notCanonical('holds a backslash or a colon')
  const segments = path.split('/')
  if (segments.length > MAX_SEGMENTS) return notCanonical(`is more than ${MAX_SEGMENTS} directories deep`)
  for (const segment of segments) {
    const fault = faultOfSegment(segment)
    if (fault !== null) return fault
  }
  return null
}

function faultOfSegment(segment: string): PathFault | null {
  if (segment === '') return notCanonical('begins or ends with / or holds //')
  if (segment === '.' || segment === '..') return notCanonical('holds . or .. as a directory')
  if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES) {
    return notCanonical(`has a name of more than ${MAX_SEGMENT_BYTES} bytes`)
  }
  if (/^\s|[\s.]$/u.test(segment))
    return notCanonical('has a name that begins or ends with a space, or ends with a dot')
  if (DEVICE.test(segment)) return refuse('path_reserved', 'has a name that Windows reserves for devices')
  if (/^\.git/i.test(segment) && !KNOWN_GIT_NAMES.test(segment)) {
    return refuse('path_reserved', 'has a name that belongs to Git')
  }
  if (SHORT_GIT_NAMES.test(segment)) return refuse('path_reserved', "has a name that Windows may take for Git's own")
  return null
}

function notCanonical(why: string): PathFault {
  return refuse('path_not_canonical', `${why}; write it as Git shows it`)
}

function refuse(code: PathFault['code'], message: string): PathFault {
  return { code, message }
}
