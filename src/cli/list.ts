/** `wq list`: one page of work items, newest first. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ListQuery } from '../contract/requests.ts'
import { phaseSchema } from '../contract/work-item.ts'
import { type ConnectionOptions, connect, withConnection } from './connection.ts'
import { phaseText } from './describe-item.ts'
import { colorOfPhase, createOutput, printable, shortTime, table } from './output.ts'

interface Options extends ConnectionOptions {
  readonly phase?: NonNullable<ListQuery['phase']>
  readonly type?: string
  readonly caller?: string
  readonly search?: string
  readonly limit: number
  readonly before?: string
}

export function registerListCommand(program: Command): void {
  const command = program
    .command('list')
    .description('list work items, newest first')
    .addOption(new Option('--phase <phase>', 'only items in this phase').choices(phaseSchema.options))
    .option('--type <item-type>', 'only items of this type')
    .option('--caller <name>', 'only items that this caller submitted')
    .option('--search <text>', 'only items whose identity contains this text')
    .option('--limit <count>', 'how many, 1 to 100', readLimit, 20)
    .option('--before <id>', 'the page after this one: only items older than this item')
  withConnection(command).action(list)
}

async function list({ type, phase, caller, search, limit, before, ...connection }: Options): Promise<void> {
  const output = createOutput()
  const client = await connect(connection)
  const answer = await client.list({ item_type: type, phase, caller, search, limit, before })
  if (connection.json) {
    output.print(JSON.stringify(answer))
    return
  }
  const { dim } = output.colors
  if (answer.items.length === 0) {
    output.print(dim('No work item fits.'))
    return
  }
  const rows = answer.items.map((item) => [
    item.id,
    phaseText(item),
    shortTime(item.updated_at),
    printable(item.summary),
  ])
  const lines = table([['ID', 'PHASE', 'UPDATED (UTC)', 'SUMMARY'], ...rows], (cell, column, row) => {
    if (row === 0 || column === 2) return dim(cell)
    return column === 1 ? colorOfPhase(output.colors, answer.items[row - 1]?.phase ?? '')(cell) : cell
  })
  for (const line of lines) output.print(line)
  if (answer.next !== null) output.print(dim(`More: repeat it with --before ${answer.next}`))
}

function readLimit(text: string): number {
  const limit = Number(text)
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) throw new InvalidArgumentError('A page holds 1 to 100.')
  return limit
}
