/** `wq queue`: what the queue is doing, and the events it had to set aside; for operators. */
import { type Command, InvalidArgumentError } from 'commander'
import type { RevivedEvents } from '../contract/queue.ts'
import { WorkQueueError } from '../lib/errors.ts'
import { type ConnectionOptions, connect, withConnection } from './connection.ts'
import { statusText } from './describe-queue.ts'
import { createOutput, printable, shortTime, table } from './output.ts'
import { pauseLine } from './pause.ts'

export function registerQueueCommand(program: Command): void {
  const queue = program.command('queue').description('see what the queue is doing, and mend what got stuck')
  withConnection(
    queue.command('status').description('what is due, running, waiting and stuck, and what to do about it'),
  ).action(status)
  withConnection(
    queue
      .command('dead-events')
      .description('list events that failed five times and were set aside, newest first')
      .option('--item <id>', 'only events of this work item')
      .option('--limit <count>', 'how many, 1 to 100', readLimit, 20)
      .option('--before <event>', 'the page after this one: only events older than this one'),
  ).action(deadEvents)
  withConnection(
    queue
      .command('revive')
      .description('try a dead event again, or with --item all those of a work item')
      .argument('[event]', 'the number of a dead event')
      .option('--item <id>', 'the id of a work item'),
  ).action(revive)
}

async function status(options: ConnectionOptions): Promise<void> {
  const output = createOutput()
  const client = await connect(options)
  const [answer, { pauses }] = await Promise.all([client.queueStatus(), client.pauses()])
  if (options.json) {
    output.print(JSON.stringify(answer))
    return
  }
  for (const pause of pauses) output.print(output.colors.yellow(pauseLine(pause)))
  for (const line of statusText(answer, output.colors)) output.print(line)
}

interface ListOptions extends ConnectionOptions {
  readonly item?: string
  readonly limit: number
  readonly before?: string
}

async function deadEvents({ item, limit, before, ...connection }: ListOptions): Promise<void> {
  const output = createOutput()
  const answer = await (await connect(connection)).deadEvents({ work_item_id: item, limit, before })
  if (connection.json) {
    output.print(JSON.stringify(answer))
    return
  }
  const { dim } = output.colors
  if (answer.events.length === 0) {
    output.print(dim('No dead event fits.'))
    return
  }
  const rows = answer.events.map((event) => [
    event.id,
    printable(event.event_type),
    shortTime(event.received_at),
    event.work_item_id,
    event.phase,
    printable(event.error ?? ''),
  ])
  const head = ['EVENT', 'KIND', 'RECEIVED (UTC)', 'WORK ITEM', 'PHASE', 'LAST ERROR']
  for (const line of table([head, ...rows], (cell, _column, row) => (row === 0 ? dim(cell) : cell))) output.print(line)
  if (answer.next !== null) output.print(dim(`More: repeat it with --before ${answer.next}`))
  output.print(dim('When the cause is mended, try one again with: wq queue revive EVENT'))
}

interface ReviveOptions extends ConnectionOptions {
  readonly item?: string
}

async function revive(event: string | undefined, { item, ...connection }: ReviveOptions): Promise<void> {
  const output = createOutput()
  const revived = await reviveWhich(event, item, connection)
  if (connection.json) {
    output.print(JSON.stringify(revived))
    return
  }
  for (const { id, event_type, work_item_id } of revived.events) {
    output.print(`Event ${id} (${printable(event_type)}) of ${work_item_id} is tried again.`)
  }
  const ids = new Set(revived.events.map(({ work_item_id }) => work_item_id))
  for (const id of ids) output.print(output.colors.dim(`See what comes of it: wq queue dead-events --item ${id}`))
}

async function reviveWhich(
  event: string | undefined,
  item: string | undefined,
  connection: ConnectionOptions,
): Promise<RevivedEvents> {
  if ((event === undefined) === (item === undefined)) {
    throw new WorkQueueError(
      'bad_usage',
      'Name one dead event (wq queue dead-events lists them), or a work item with --item, and not both.',
    )
  }
  const client = await connect(connection)
  return event === undefined ? client.reviveEventsOf(item ?? '') : client.reviveEvent(event)
}

function readLimit(text: string): number {
  const limit = Number(text)
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) throw new InvalidArgumentError('A page holds 1 to 100.')
  return limit
}
