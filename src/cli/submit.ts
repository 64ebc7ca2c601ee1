/** `wq submit`: sends the desired state of a work item, and says what that did and how to follow it. */
import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from './connection.ts'
import { createOutput, printable } from './output.ts'
import { readSubmission } from './read-submission.ts'
import { type WatchOptions, watchWorkItem, withWatching } from './watch.ts'

type Options = ConnectionOptions & WatchOptions & { readonly watch?: true }

export function registerSubmitCommand(program: Command): void {
  const command = program
    .command('submit')
    .description('submit the desired state of a work item; the same again is harmless')
    .argument('<file>', 'the submission, JSON or YAML; - = standard input')
    .option('-w, --watch', 'then watch it to its end, like wq watch')
  withWatching(withConnection(command)).action(submit)
}

async function submit(file: string, options: Options): Promise<void> {
  const output = createOutput()
  const submission = await readSubmission(file)
  const client = await connect(options)
  const answer = await client.submit(submission)
  const { id, dedup_key, generation } = answer.work_item
  if (options.json) output.print(JSON.stringify(answer))
  else {
    const { bold, dim, green } = output.colors
    const which = generation === 1 ? '' : `, generation ${generation}`
    output.print(`${green(answer.outcome)} ${bold(id)}  ${printable(dedup_key)}${which}`)
    if (!options.watch) output.print(dim(`Follow it with: wq watch ${id}`))
  }
  if (options.watch) process.exitCode = await watchWorkItem(client, id, options, output)
}
