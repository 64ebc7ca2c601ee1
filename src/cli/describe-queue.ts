/**
 * The state of the queue in words, for an operator who was woken at night: first the numbers with their ages, then what is
 * busy, and last what calls for a person, each with the command that comes next.
 */
import type { QueueStatus } from '../contract/queue.ts'
import { type Colors, printable, shortTime, table } from './output.ts'

/** Work of a healthy queue is taken within moments; what waits for longer than this is worth a look. */
const LONG_MS = 60_000
/** An action may take a while: it writes to the outside world. */
const LONG_RUN_MS = 10 * 60_000

export function statusText(status: QueueStatus, colors: Colors): string[] {
  const types = status.item_types.length === 0 ? 'no item type' : status.item_types.map(printable).join(', ')
  const lines = [colors.bold(`Queue of ${types}, ${shortTime(status.now)} UTC`), '']
  lines.push(...table(facts(status), (cell, column) => (column === 0 ? colors.dim(cell) : cell)))
  if (status.by_item_type.length > 1 || status.by_concurrency_key.length > 0) {
    lines.push('', ...groupTable(status, colors))
  }
  if (status.running_items.length > 0) lines.push('', ...runningTable(status, colors))
  const advice = adviceFor(status)
  lines.push('')
  if (advice.length === 0) lines.push(colors.green('Nothing calls for you.'))
  for (const { what, next } of advice) lines.push(colors.yellow(what), `  ${next}`)
  return lines.map((line) => line.trimEnd())
}

function facts({ now, total, oldest_due, process }: QueueStatus): string[][] {
  const { active, due, running, backoff, deferred, idle, counted_all } = total
  const atLeast = counted_all ? '' : ' or more'
  const since = (time: string | null) => (time === null ? '' : `for ${span(now, time)}`)
  const within = (time: string | null) => (time === null ? '' : `in ${span(time, now)}`)
  return [
    ['active', `${active}${atLeast}`, ''],
    ['due', String(due), oldest_due === null ? '' : `the oldest ${since(oldest_due.since)}: ${oldest_due.id}`],
    ['running', String(running), `${process.running} of ${process.workers} workers of the process that answers`],
    ['in backoff', String(backoff), total.next_retry_at === null ? '' : `next try ${within(total.next_retry_at)}`],
    ['put off', `${deferred}${atLeast}`, total.next_look_at === null ? '' : `next look ${within(total.next_look_at)}`],
    ['idle', idle === null ? 'not counted' : String(idle), idle ? 'an event or a caller wakes them' : ''],
    [
      'events',
      String(total.pending_events),
      total.oldest_event_at === null ? '' : `the oldest waits ${since(total.oldest_event_at)}`,
    ],
    ['dead events', String(total.dead_events), ''],
    ['received', String(process.events.received_webhook + process.events.received_sqs), fateOf(process.events)],
  ]
}

function fateOf({ unresolved, inserted, drained }: QueueStatus['process']['events']): string {
  return `events since the start of the process that answers: ${unresolved} for nobody, ${inserted} stored, ${drained} applied`
}

function groupTable({ now, by_item_type, by_concurrency_key }: QueueStatus, { dim }: Colors): string[] {
  // Of one type alone the numbers above say it all.
  const types = by_item_type.length > 1 ? by_item_type : []
  const groups = [...types.map((group) => ({ ...group, concurrency_key: null })), ...by_concurrency_key]
  const rows = groups.map((group) => [
    printable(group.item_type),
    group.concurrency_key === null ? '(all)' : printable(group.concurrency_key),
    String(group.due),
    group.oldest_due_at === null ? '' : span(now, group.oldest_due_at),
    String(group.running),
    String(group.backoff),
    String(group.pending_events),
    String(group.dead_events),
  ])
  const head = ['TYPE', 'KEY', 'DUE', 'FOR', 'RUNNING', 'BACKOFF', 'EVENTS', 'DEAD']
  return table([head, ...rows], (cell, _column, row) => (row === 0 ? dim(cell) : cell))
}

function runningTable({ now, running_items }: QueueStatus, { dim }: Colors): string[] {
  const rows = running_items.map(({ id, leased_at, leased_until, attempts, dedup_key }) => [
    id,
    span(now, leased_at),
    span(leased_until, now),
    String(attempts),
    printable(dedup_key),
  ])
  const head = ['RUNNING', 'CLAIMED FOR', 'LEASE', 'FAILURES', 'WHAT']
  return table([head, ...rows], (cell, _column, row) => (row === 0 ? dim(cell) : cell))
}

interface Advice {
  readonly what: string
  readonly next: string
}

function adviceFor(status: QueueStatus): Advice[] {
  return [...adviceOnProcess(status), ...adviceOnDue(status), ...adviceOnItems(status)]
}

function adviceOnProcess({ item_types, process }: QueueStatus): Advice[] {
  const advice: Advice[] = []
  if (item_types.length === 0) {
    advice.push({
      what: 'This process handles no item type that you administer.',
      next: 'Look at handled_types in its configuration, and at item_types of your rule.',
    })
  }
  if (process.draining) {
    advice.push({
      what: 'This process is stopping and begins nothing new.',
      next: 'Ask again in half a minute; what it leaves, other processes or the next start take up.',
    })
  }
  if (process.listening === 'lost') {
    advice.push({
      what: 'This process does not hear the wake-ups of other processes.',
      next: 'Work goes on, found by the sweep. If it stays so: its log says why the database refuses to LISTEN.',
    })
  }
  return advice
}

function adviceOnDue({ now, total, oldest_due, by_concurrency_key, process }: QueueStatus): Advice[] {
  if (oldest_due === null || ageMs(now, oldest_due.since) < LONG_MS) return []
  const what = `${total.due} due, the oldest for ${span(now, oldest_due.since)}.`
  if (total.running === 0) {
    return [{ what: `${what} Nobody works on them.`, next: 'Look at the log of the service: can its processes work?' }]
  }
  if (process.running >= process.workers) {
    return [
      {
        what: `${what} All workers of this process are busy.`,
        next: 'If it goes on: start another process, or raise queue.workers. Who is slow stands under RUNNING.',
      },
    ]
  }
  const [first] = by_concurrency_key
  if (first !== undefined && first.due > 0 && first.running > 0) {
    return [
      {
        what: `${what} Workers are free; ${first.due} of the items wait for a place in ${printable(first.concurrency_key)}.`,
        next: 'queue.concurrency_per_key limits how many of one key a process runs. Who is slow stands under RUNNING.',
      },
    ]
  }
  return [{ what, next: `Look at the oldest: wq show ${oldest_due.id}` }]
}

function adviceOnItems({ now, total, running_items }: QueueStatus): Advice[] {
  const advice: Advice[] = []
  const [slowest] = running_items
  if (slowest !== undefined && ageMs(now, slowest.leased_at) >= LONG_RUN_MS) {
    advice.push({
      what: `One item has been worked on without rest for ${span(now, slowest.leased_at)}.`,
      next: `See what it does: wq show ${slowest.id}`,
    })
  }
  if (total.oldest_event_at !== null && ageMs(now, total.oldest_event_at) >= LONG_MS) {
    advice.push({
      what: `${total.pending_events} events wait, the oldest for ${span(now, total.oldest_event_at)}.`,
      next: 'They wait for a worker of their items; look at what is due and running above.',
    })
  }
  if (total.dead_events > 0) {
    advice.push({
      what: `${total.dead_events} dead: events that failed five times and were set aside.`,
      next: 'See why: wq queue dead-events',
    })
  }
  return advice
}

function ageMs(now: string, time: string): number {
  return Date.parse(now) - Date.parse(time)
}

/** From `earlier` to `later`, in the two largest units: `4m 10s`. */
function span(later: string, earlier: string): string {
  const seconds = Math.max(0, Math.floor(ageMs(later, earlier) / 1_000))
  const units = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const
  const largest = units.findIndex(([amount]) => amount > 0)
  if (largest < 0) return '0s'
  return units
    .slice(largest, largest + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount}${unit}`)
    .join(' ')
}
