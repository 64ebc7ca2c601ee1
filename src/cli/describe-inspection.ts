/** A dry run in words: what would happen to which file, and under which rules. */
import { stringify } from 'yaml'
import type { Inspection } from '../contract/inspection.ts'
import { byteText } from './changes/size-report.ts'
import { type Colors, printable, table } from './output.ts'

const OUTCOMES = {
  created: 'It would become a new work item.',
  updated: 'It would change the work item that is at work for this branch.',
  unchanged: 'The service knows exactly this already: nothing would happen.',
  retried: 'It would bring the failed work item of this branch back.',
} as const

/** Of one that would be taken; findings are told like those of a refused submission. */
export function inspectionText({ outcome, changes, policy }: Inspection, colors: Colors): string[] {
  const lines = outcome === null ? [] : [`${colors.green('accepted')}  ${OUTCOMES[outcome]}`]
  if (changes.length > 0) lines.push('', colors.bold('Changes in the target'))
  const rows = changes.map(({ change, path, previous_path, bytes, mode }) => [
    `  ${change}`,
    previous_path === undefined ? shown(path) : `${shown(previous_path)} → ${shown(path)}`,
    [bytes === undefined ? '' : byteText(bytes), mode === '100755' ? 'executable' : ''].filter(Boolean).join(', '),
  ])
  const summary = table(rows, (cell, column) => (column === 2 ? colors.dim(cell) : cell))
  for (const [index, line] of summary.entries()) {
    lines.push(line.trimEnd(), ...diffLines(changes[index]?.diff ?? '', colors))
  }
  if (Object.keys(policy).length > 0) {
    lines.push(
      '',
      colors.bold('Rules that hold'),
      ...stringify(policy)
        .trimEnd()
        .split('\n')
        .map((line) => `  ${printableLine(line)}`),
    )
  }
  return lines
}

function diffLines(diff: string, colors: Colors): readonly string[] {
  if (diff === '') return []
  return diff
    .trimEnd()
    .split('\n')
    .map((line) => {
      const text = `    ${printableLine(line)}`
      if (line.startsWith('+')) return colors.green(text)
      return line.startsWith('-') ? colors.red(text) : text
    })
}

function shown(path: string): string {
  return printable(path)
}

/** Blanks at the beginning are part of what a diff says. */
function printableLine(line: string): string {
  const indent = /^ */.exec(line)?.[0] ?? ''
  return `${indent}${printable(line.replaceAll('\t', '    ').slice(indent.length))}`
}
