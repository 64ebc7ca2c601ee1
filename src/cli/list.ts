/** `wq list`: one page of work items, newest first. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Client } from '../client/client.ts'
import type { ListQuery } from '../contract/requests.ts'
import { type ListAnswer, type ListedWorkItem, phaseSchema } from '../contract/work-item.ts'
import { type ConnectionOptions, connect, withConnection } from './connection.ts'
import { phaseText } from './describe-item.ts'
import { colorOfPhase, createOutput, printable, shortTime, table } from './output.ts'

interface Options extends ConnectionOptions {
  readonly phase?: NonNullable<ListQuery['phase']>
  readonly type?: string
  readonly caller?: string
  readonly project?: string
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
    .option('--project <path>', 'only items of this project')
    .option('--search <text>', 'only items whose identity contains this text')
    .option('--limit <count>', 'how many, 1 to 100', readLimit, 20)
    .option('--before <id>', 'the page after this one: only items older than this item')
  withConnection(command).action(list)
}

async function list({ type, phase, caller, project, search, limit, before, ...connection }: Options): Promise<void> {
  const output = createOutput()
  const client = await connect(connection)
  const answer = await findItems(client, {
    item_type: type,
    phase,
    caller,
    concurrency_key: project,
    search,
    limit,
    before,
  })
  if (connection.json) {
    output.print(JSON.stringify(answer))
    return
  }
  const { dim } = output.colors
  if (answer.items.length === 0) {
    output.print(
      dim(answer.next === null ? 'No work item fits.' : `None fits so far. Go on with --before ${answer.next}`),
    )
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

/** Of what is rare a page may hold little or nothing: then this many are asked for, one after the other. */
const MOST_PAGES = 20

async function findItems(client: Client, query: ListQuery & { readonly limit: number }): Promise<ListAnswer> {
  const items: ListedWorkItem[] = []
  let next: string | null = null
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const limit = query.limit - items.length
    const answer = await client.list({ ...query, limit, ...(next === null ? {} : { before: next }) })
    items.push(...answer.items)
    next = answer.next
    if (next === null || items.length >= query.limit) break
  }
  return { items, next }
}

function readLimit(text: string): number {
  const limit = Number(text)
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) throw new InvalidArgumentError('A page holds 1 to 100.')
  return limit
}
