/**
 * A work item in words, the same in every command.
 */
import type { ListedWorkItem, WorkItemView } from '../contract/work-item.ts'
import { type Colors, colorOfPhase, printable, shortTime, table } from './output.ts'

/** `failed (branch_not_owned)`. */
export function phaseText({
  phase,
  resolution,
}: {
  readonly phase: string
  readonly resolution: string | null
}): string {
  return resolution === null || resolution === phase ? phase : `${phase} (${printable(resolution)})`
}

/** One line on what the item waits for, or how it ended, and where to look. */
export function progressText(item: ListedWorkItem): string {
  const parts = [phaseText(item)]
  for (const { message } of item.blockers) parts.push(printable(message))
  if (item.last_error !== null && item.phase !== 'completed') {
    const again = item.phase === 'active' ? `, attempt ${item.attempts + 1} follows` : ''
    parts.push(`last error: ${printable(item.last_error.message)}${again}`)
  }
  for (const { url } of item.links) parts.push(printable(url))
  return parts.join('  ')
}

/** Everything, one fact a line. */
export function fullText(item: WorkItemView, colors: Colors): string[] {
  const facts: [string, string][] = [
    ['id', item.id],
    ['type', printable(item.item_type)],
    ['phase', colorOfPhase(colors, item.phase)(phaseText(item))],
    ['generation', String(item.generation)],
    ['identity', printable(item.dedup_key)],
    ['submitted by', printable(item.caller_identity)],
    ['created', shortTime(item.created_at)],
    ['updated', shortTime(item.updated_at)],
  ]
  if (item.attempts > 0) facts.push(['attempts', String(item.attempts)])
  if (item.last_error) facts.push(['last error', printable(`${item.last_error.code}: ${item.last_error.message}`)])
  if (item.retry_at) facts.push(['not before', shortTime(item.retry_at)])
  for (const { name, url } of item.links) facts.push([printable(name).toLowerCase(), printable(url)])
  const lines = [colors.bold(printable(item.summary)), '']
  lines.push(...table(facts, (cell, column) => (column === 0 ? colors.dim(cell) : cell)))
  if (item.blockers.length > 0) lines.push('', colors.bold(item.phase === 'failed' ? 'Failed because' : 'Waits for'))
  for (const { message, cleared_by, since } of item.blockers) {
    const from = since === null ? '' : `, since ${shortTime(since)}`
    lines.push(`  ${printable(message)} ${colors.dim(`(${printable(cleared_by)}${from})`)}`)
  }
  if (item.dimensions.length > 0) {
    lines.push('', colors.bold('Dimensions'))
    const rows = item.dimensions.map(({ name, variant, status, pending_until, note }) => [
      `  ${variant === '' ? name : `${name}/${printable(variant)}`}`,
      status === 'false' ? 'settled' : pending_until === null ? 'needed' : `after ${shortTime(pending_until)}`,
      printable(note ?? ''),
    ])
    lines.push(...table(rows, (cell, column) => (column === 2 ? colors.dim(cell) : cell)))
  }
  return lines
}
