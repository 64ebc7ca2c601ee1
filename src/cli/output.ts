/**
 * What people read on a terminal. Colour only where a person looks (and never with NO_COLOR); text that came from
 * elsewhere loses its control characters, so that a title cannot move the cursor or hide what stands before it.
 */
import pc from 'picocolors'

export interface Output {
  /** A line on standard output. */
  print(line: string): void
  /** A line on standard error. */
  complain(line: string): void
  readonly colors: Colors
  readonly errorColors: Colors
}

export type Colors = ReturnType<typeof pc.createColors>

export function createOutput(): Output {
  return {
    print: (line) => console.log(line),
    complain: (line) => console.error(line),
    colors: pc.createColors(wantsColor(process.stdout)),
    errorColors: pc.createColors(wantsColor(process.stderr)),
  }
}

function wantsColor(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb'
}

/** One line without control characters and without characters that reorder text. */
export function printable(text: string): string {
  return text.replace(/\s*[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+\s*/gu, ' ').trim()
}

export function shortTime(iso: string): string {
  return iso.replace('T', ' ').replace(/(\.\d+)?Z$/, '')
}

/** Columns as wide as their widest cell; the last one takes what it needs. `style` colours a cell after it was padded. */
export function table(
  rows: readonly (readonly string[])[],
  style: (cell: string, column: number, row: number) => string,
): string[] {
  const widths = (rows[0] ?? []).map((_cell, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)))
  return rows.map((cells, row) =>
    cells
      .map((cell, column) => style(column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0), column, row))
      .join('  '),
  )
}

export function colorOfPhase(colors: Colors, phase: string): (text: string) => string {
  switch (phase.trim()) {
    case 'completed':
      return colors.green
    case 'failed':
      return colors.red
    case 'cancelled':
      return colors.yellow
    default:
      return colors.cyan
  }
}
