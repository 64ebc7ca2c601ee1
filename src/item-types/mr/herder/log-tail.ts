/**
 * The end of a job's log as a person reads it: without colours, without the runner's section marks, without what a carriage
 * return has overwritten, and without the piece of a line that the cut has left. Pure. The text is looked at and forgotten:
 * it may hold secrets, so it is never stored, logged or shown.
 */

/** Newer runners put the time and the stream before each line. */
const LINE_HEAD = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z [0-9a-f]{2}[OE][ +]/gm
const SECTION_MARK = /section_(?:start|end):\d+:[^\r\n]*(?:\r|$)/gm
// What a terminal obeys: CSI and OSC sequences, and the two-character ones. Every part is bounded or excludes its own end.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const ESCAPES = /\u001b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\u0007\u001b\n]{0,512}(?:\u0007|\u001b\\)?|[@-Z\\^_])/g
/** Longer lines are no messages. A pattern is spared what one line of a binary would cost. */
const MAX_LINE = 4_096

/** `isWhole`: the log was short enough to be there from its beginning. */
export function readLogTail(tail: string, isWhole: boolean): string {
  const lines = tail.replace(LINE_HEAD, '').replace(SECTION_MARK, '').replace(ESCAPES, '').split('\n')
  return lines
    .slice(isWhole ? 0 : 1)
    .map((line) => lastWritten(line).slice(0, MAX_LINE))
    .join('\n')
}

/** A progress bar writes over itself; what stands there at the end is what was meant to be read. */
function lastWritten(line: string): string {
  const written = line.endsWith('\r') ? line.slice(0, -1) : line
  return written.slice(written.lastIndexOf('\r') + 1)
}
