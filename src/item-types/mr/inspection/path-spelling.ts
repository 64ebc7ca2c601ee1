/**
 * The one canonical spelling of a path. Any other is refused and never cleaned: GitLab cleans `docs/../.gitlab-ci.yml` itself, so
 * a path that was repaired here would be another one there.
 */

export interface SpellingFault {
  readonly code: 'path_not_canonical' | 'path_reserved'
  /** The rest of a sentence. */
  readonly why: string
}

const MAX_BYTES = 1_024
const MAX_SEGMENTS = 32
const MAX_SEGMENT_BYTES = 255

/** Controls, format characters (bidi, joiners, BOM), private use, surrogates, line and paragraph separators. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
/** Names that Windows gives to devices, with any extension. */
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i
/** The names beginning with `.git` that are ordinary files of a project, in their one spelling. */
const KNOWN_GIT_NAMES = /^\.git(ignore|keep|attributes|modules|hooks|lab|hub|lab-ci[\w.-]*\.ya?ml)$/
/** Windows' short names: `GIT~1` may be `.git`, `CODEOW~1` CODEOWNERS. */
const SHORT_NAME = /^[^.~]{1,8}~\d+(\.|$)/

/** What is wrong with how it is written; null when it is canonical. */
export function faultOfSpelling(path: string): SpellingFault | null {
  // Length first: nothing below shall look at more than a path can have.
  if (path === '' || path.length > MAX_BYTES || !path.isWellFormed() || Buffer.byteLength(path) > MAX_BYTES) {
    return notCanonical(`must be 1 to ${MAX_BYTES} bytes of well-formed text`)
  }
  if (INVISIBLE.test(path)) return notCanonical('holds control or invisible characters')
  if (path !== path.normalize('NFC')) return notCanonical('is not in Unicode normal form C')
  const compatible = path.normalize('NFKC')
  return faultOfPlainSpelling(path) ?? (compatible === path ? null : faultOfPlainSpelling(compatible))
}

/** Judged for the path and for its compatible form, where a full-width stop is a stop. */
function faultOfPlainSpelling(path: string): SpellingFault | null {
  if (/[\\:]/.test(path)) return notCanonical('holds a backslash or a colon')
  if (/%[0-9a-f]{2}/i.test(path)) return notCanonical('holds a character in percent code')
  const segments = path.split('/')
  if (segments.length > MAX_SEGMENTS) return notCanonical(`is more than ${MAX_SEGMENTS} directories deep`)
  for (const segment of segments) {
    const fault = faultOfSegment(segment)
    if (fault !== null) return fault
  }
  return null
}

function faultOfSegment(segment: string): SpellingFault | null {
  if (segment === '') return notCanonical('begins or ends with / or holds //')
  if (segment === '.' || segment === '..') return notCanonical('holds . or .. as a directory')
  if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES) {
    return notCanonical(`has a name of more than ${MAX_SEGMENT_BYTES} bytes`)
  }
  if (/^\s|[\s.]$/u.test(segment)) {
    return notCanonical('has a name that begins or ends with a space, or ends with a dot')
  }
  if (DEVICE.test(segment)) return reserved('has a name that Windows reserves for devices')
  if (/^\.git/i.test(segment) && !KNOWN_GIT_NAMES.test(segment)) return reserved('has a name that belongs to Git')
  if (SHORT_NAME.test(segment)) return reserved('has a name that Windows may take for that of another file')
  return null
}

function notCanonical(why: string): SpellingFault {
  return { code: 'path_not_canonical', why }
}

function reserved(why: string): SpellingFault {
  return { code: 'path_reserved', why }
}

/**
 * What case and compatible forms of letters are folded to, for comparing names that some file system takes for one: `ſ` and
 * `S`, a full-width letter and the plain one.
 */
export function foldPath(path: string): string {
  return path.normalize('NFKC').toUpperCase().toLowerCase()
}
