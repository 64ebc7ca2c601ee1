/** `wq submit`: sends the desired state of a work item, and says what that did and how to follow it. */
import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from './connection.ts'
import { withNamedFiles } from './name-files.ts'
import { createOutput, printable } from './output.ts'
import { readSource, type SourceOptions, withSource } from './submission-source.ts'
import { type WatchOptions, watchWorkItem, withWatching } from './watch.ts'

type Options = ConnectionOptions & WatchOptions & SourceOptions & { readonly watch?: true; readonly dryRun?: true }

export function registerSubmitCommand(program: Command): void {
  const command = program
    .command('submit')
    .description('submit the desired state of a work item; the same again is harmless')
    .option('-w, --watch', 'then watch it to its end, like wq watch')
    .option('-n, --dry-run', 'print the submission as JSON and send nothing; wq inspect asks the service about it')
  withSource(withWatching(withConnection(command))).action(submit)
}

async function submit(file: string | undefined, options: Options): Promise<void> {
  const output = createOutput()
  const submission = await readSource(file, options, output)
  if (submission === null) {
    output.print(options.json ? JSON.stringify(null) : NOTHING)
    return
  }
  if (options.dryRun) {
    output.print(JSON.stringify(submission, null, options.json ? 0 : 2))
    return
  }
  const client = await connect(options)
  const answer = await client.submit(submission).catch((error: unknown) => {
    throw options.json ? error : withNamedFiles(error, submission)
  })
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

export const NOTHING = 'These commits change no file: there is nothing to submit.'
