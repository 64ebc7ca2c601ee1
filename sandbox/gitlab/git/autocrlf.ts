/**
 * `core.autocrlf=input` for one file: CRLF becomes LF where git takes the bytes for text. The rule is git's own (its
 * `convert.c`): a lone CR, a NUL, or more than one unprintable byte in 128 printable ones makes a file binary.
 */

const CR = 13
const LF = 10
const CTRL_Z = 26
/** Backspace, tab, escape and form feed count as printable. */
const PRINTABLE_CONTROLS = [8, 9, 27, 12]

export function storedBytes(content: Buffer): Buffer {
  let pairs = 0
  let printable = 0
  let unprintable = 0
  for (let at = 0; at < content.length; at += 1) {
    const byte = content[at] ?? 0
    if (byte === LF) continue
    if (byte === CR) {
      if (content[at + 1] !== LF) return content
      pairs += 1
      at += 1
    } else if (byte === 0) return content
    else if (byte === 127 || (byte < 32 && !PRINTABLE_CONTROLS.includes(byte))) unprintable += 1
    else printable += 1
  }
  // An end-of-file mark of old systems is no sign of a binary file.
  if (content.at(-1) === CTRL_Z) unprintable -= 1
  if (pairs === 0 || Math.floor(printable / 128) < unprintable) return content
  return content.filter((byte) => byte !== CR) as Buffer
}
