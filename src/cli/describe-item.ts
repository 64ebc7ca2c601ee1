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

/**
 * One line on what the item waits for, or how it ended, and where to look. What began just now needs no time beside that of
 * the line. `said` is the same without any times.
 */
export function progressText(item: ListedWorkItem, now = new Date()): { readonly text: string; readonly said: string } {
  const line = (blocker: (blocker: Blocker) => string) => {
    const parts = [phaseText(item), ...item.blockers.map(blocker)]
    if (item.phase === 'active' && item.attempts > 0) parts.push(`attempt ${item.attempts + 1} follows`)
    const error = unsaidError(item)
    if (error !== null && item.phase !== 'completed') parts.push(`last error: ${printable(error.message)}`)
    return [...parts, ...item.links.map(({ url }) => printable(url))].join('  ')
  }
  const dated = (blocker: Blocker) => {
    const isNew = blocker.since !== null && now.getTime() - Date.parse(blocker.since) < NEW_MS
    return blockerText(isNew ? { ...blocker, since: null } : blocker)
  }
  return { text: line(dated), said: line(({ message }) => printable(message)) }
}

const NEW_MS = 60_000

type Blocker = ListedWorkItem['blockers'][number]

/** `The pipeline is running. (up to CI, since 2026-03-02 10:00:00 UTC)` */
function blockerText({ message, cleared_by, since }: Blocker, dim = (text: string) => text): string {
  const from = since === null ? '' : `, since ${utcTime(since)}`
  return `${printable(message)} ${dim(`(up to ${printable(cleared_by)}${from})`)}`
}

/** The last error, unless a blocker says it already. */
function unsaidError({ last_error, blockers }: ListedWorkItem): ListedWorkItem['last_error'] {
  return blockers.some(({ code }) => code === last_error?.code) ? null : last_error
}

function utcTime(iso: string): string {
  return `${shortTime(iso)} UTC`
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
    ['created', utcTime(item.created_at)],
    ['updated', utcTime(item.updated_at)],
  ]
  if (item.attempts > 0) facts.push(['attempts', String(item.attempts)])
  const error = unsaidError(item)
  if (error) facts.push(['last error', printable(`${error.code}: ${error.message}`)])
  if (item.retry_at) facts.push(['not before', utcTime(item.retry_at)])
  for (const { name, url } of item.links) facts.push([printable(name).toLowerCase(), printable(url)])
  const lines = [colors.bold(printable(item.summary)), '']
  lines.push(...table(facts, (cell, column) => (column === 0 ? colors.dim(cell) : cell)))
  if (item.blockers.length > 0) lines.push('', colors.bold(item.phase === 'failed' ? 'Failed because' : 'Waits for'))
  for (const blocker of item.blockers) {
    lines.push(`  ${blockerText(blocker, colors.dim)}`)
    for (const { name, url } of blocker.links) lines.push(`    ${printable(name)}: ${printable(url)}`)
  }
  // Nobody acts on what is over, whatever was still needed then.
  if (item.phase === 'active' && item.dimensions.length > 0) {
    lines.push('', colors.bold('Dimensions'))
    const rows = item.dimensions.map(({ name, variant, status, pending_until, note }) => [
      `  ${variant === '' ? name : `${name}/${printable(variant)}`}`,
      status === 'false' ? 'settled' : pending_until === null ? 'needed' : `after ${utcTime(pending_until)}`,
      printable(note ?? ''),
    ])
    lines.push(...table(rows, (cell, column) => (column === 2 ? colors.dim(cell) : cell)))
  }
  return lines.map((line) => line.trimEnd())
}
