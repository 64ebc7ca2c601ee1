/** `wq cancel`: asks a work item to end; the service then cleans up behind it. */
import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from './connection.ts'
import { createOutput } from './output.ts'

export function registerCancelCommand(program: Command): void {
  const command = program
    .command('cancel')
    .description('cancel a work item; what it made outside is cleaned up')
    .argument('<id>', 'the id of a work item')
  withConnection(command).action(async (id: string, options: ConnectionOptions) => {
    const output = createOutput()
    const item = await (await connect(options)).cancel(id)
    if (options.json) output.print(JSON.stringify(item))
    else output.print(`${id} is being cancelled. ${output.colors.dim(`Follow it with: wq watch ${id}`)}`)
  })
}
