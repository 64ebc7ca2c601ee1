/** `wq show`: everything about one work item. */
import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from './connection.ts'
import { fullText } from './describe-item.ts'
import { createOutput } from './output.ts'

export function registerShowCommand(program: Command): void {
  const command = program
    .command('show')
    .description('show one work item: how far it is and what it waits for')
    .argument('<id>', 'the id of a work item')
  withConnection(command).action(async (id: string, options: ConnectionOptions) => {
    const output = createOutput()
    const item = await (await connect(options)).get(id)
    if (options.json) output.print(JSON.stringify(item))
    else for (const line of fullText(item, output.colors)) output.print(line)
  })
}
