/** `wq retry`: a failed or cancelled work item lives again, an active one tries now. */
import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from './connection.ts'
import { createOutput } from './output.ts'

export function registerRetryCommand(program: Command): void {
  const command = program
    .command('retry')
    .description('try a work item again: a failed or cancelled one becomes active, an active one stops waiting')
    .argument('<id>', 'the id of a work item')
  withConnection(command).action(async (id: string, options: ConnectionOptions) => {
    const output = createOutput()
    const item = await (await connect(options)).retry(id)
    if (options.json) output.print(JSON.stringify(item))
    else output.print(`${id} is ${item.phase}. ${output.colors.dim(`Follow it with: wq watch ${id}`)}`)
  })
}
