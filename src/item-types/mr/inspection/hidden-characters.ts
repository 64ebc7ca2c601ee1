/**
 * Characters that show a reader something else than a program reads. Not here: joiners behind letters and emoji that need them
 * (Persian, Hindi, families of emoji), one variation selector, and a byte order mark at the very beginning.
 */

/** Backspace, escape and their like: they hide what stands before them on a terminal. */
const CONTROL = /[\p{Cc}--[\t-\r\u0085]]/v
const FORMAT = new RegExp(
  [
    // Soft hyphen, grapheme joiner, Arabic letter mark, Hangul and Khmer fillers, Mongolian separators.
    '[\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u3164\\uffa0]',
    // Without width; directional marks, embeddings and isolates; separators that only some programs take for a line's end.
    '[\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufff9-\\ufffb]',
    // Beyond the basic plane: musical controls, tags, selectors by which whole texts have been hidden behind one letter.
    '[\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]',
    '(?<!^)\\ufeff',
    '(?<=^|[\\p{ASCII}\\u200c\\u200d])[\\u200c\\u200d]',
    '[\\ufe00-\\ufe0f]{2}',
  ].join('|'),
  'u',
)
const NON_ASCII = /\P{ASCII}/u

/** The line of the first one, counted from 1; null when there is none. */
export function lineOfHidden(text: string): number | null {
  const indices = [text.search(CONTROL), NON_ASCII.test(text) ? text.search(FORMAT) : -1].filter(
    (index) => index !== -1,
  )
  return indices.length === 0 ? null : lineAt(text, Math.min(...indices))
}

/** The line that holds this index, counted from 1. */
export function lineAt(text: string, index: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < index; at = text.indexOf('\n', at + 1)) line += 1
  return line
}
