/** `wq pause`, `wq resume` and `wq pauses`: the operator's kill switch. */
import { type Command, Option } from 'commander'
import type { PauseView } from '../contract/pauses.ts'
import { WorkQueueError } from '../lib/errors.ts'
import { type ConnectionOptions, connect, withConnection } from './connection.ts'
import { createOutput, printable, shortTime, table } from './output.ts'

export function registerPauseCommands(program: Command): void {
  withScope(
    withConnection(program.command('pause'))
      .description('stop all work on a caller, a project, an item type, or everything; for operators')
      .requiredOption('--reason <text>', 'shown to whoever waits'),
  ).action(pause)
  withScope(
    withConnection(program.command('resume')).description('end a pause: name the same as when it was made'),
  ).action(resume)
  withConnection(program.command('pauses')).description('list what is paused').action(list)
}

interface ScopeOptions extends ConnectionOptions {
  readonly caller?: string
  readonly project?: string
  readonly itemType?: string
  readonly everything?: true
}

function withScope(command: Command): Command {
  return command
    .option('--caller <name>', 'items of this caller, by the name that wq show tells')
    .option('--project <path>', 'items of this project')
    .option('--item-type <name>', 'items of this type')
    .addOption(new Option('--everything', 'all items').conflicts(['caller', 'project', 'itemType']))
}

async function pause({ reason, ...options }: ScopeOptions & { readonly reason: string }): Promise<void> {
  const output = createOutput()
  const { caller, project, itemType, everything } = named(options)
  const made = await (await connect(options)).pause({
    ...(caller === undefined ? {} : { caller }),
    ...(project === undefined ? {} : { concurrency_key: project }),
    ...(itemType === undefined ? {} : { item_type: itemType }),
    ...(everything === undefined ? {} : { everything }),
    reason,
  })
  if (options.json) {
    output.print(JSON.stringify(made))
    return
  }
  output.print(`Paused: ${scopeOf(made)}. Within a second nothing of it is worked on; it is still accepted and stored.`)
  output.print(output.colors.dim('End it with wq resume, and the same options.'))
}

async function resume(options: ScopeOptions): Promise<void> {
  const output = createOutput()
  const { caller = null, project = null, itemType = null } = named(options)
  const client = await connect(options)
  const { pauses } = await client.pauses()
  const found = pauses.find(
    (one) =>
      one.caller === caller &&
      one.item_type === itemType &&
      one.concurrency_key?.toLowerCase() === project?.toLowerCase(),
  )
  if (found === undefined) {
    const held = pauses.map((one) => scopeOf(one)).join('; ')
    const message = `Nothing is paused that way. ${held === '' ? 'There is no pause at all.' : `Paused: ${held}.`}`
    throw new WorkQueueError('pause_not_found', message)
  }
  const ended = await client.resume(found.id)
  if (options.json) output.print(JSON.stringify(ended))
  else output.print(`Resumed: ${scopeOf(ended)}. What it held is due now.`)
}

async function list(options: ConnectionOptions): Promise<void> {
  const output = createOutput()
  const answer = await (await connect(options)).pauses()
  if (options.json) {
    output.print(JSON.stringify(answer))
    return
  }
  const { dim } = output.colors
  if (answer.pauses.length === 0) {
    output.print(dim('Nothing is paused.'))
    return
  }
  const rows = answer.pauses.map((one) => [
    scopeOf(one),
    shortTime(one.created_at),
    printable(one.created_by),
    printable(one.reason),
  ])
  const head = ['PAUSED', 'SINCE (UTC)', 'BY', 'REASON']
  for (const line of table([head, ...rows], (cell, _column, row) => (row === 0 ? dim(cell) : cell))) output.print(line)
}

function named(options: ScopeOptions): ScopeOptions {
  if ([options.caller, options.project, options.itemType, options.everything].some((given) => given !== undefined)) {
    return options
  }
  throw new WorkQueueError('bad_usage', 'Name what: --caller, --project, --item-type (also together), or --everything.')
}

export function pauseLine(pause: PauseView): string {
  const { created_by, created_at, reason } = pause
  return `Paused: ${scopeOf(pause)}, by ${printable(created_by)} since ${shortTime(created_at)} UTC: ${printable(reason)}`
}

function scopeOf({ caller, concurrency_key, item_type }: PauseView): string {
  const parts = [
    ...(caller === null ? [] : [`caller ${printable(caller)}`]),
    ...(concurrency_key === null ? [] : [`project ${printable(concurrency_key)}`]),
    ...(item_type === null ? [] : [`item type ${printable(item_type)}`]),
  ]
  return parts.length === 0 ? 'everything' : parts.join(', ')
}
