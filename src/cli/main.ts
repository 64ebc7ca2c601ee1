/**
 * `wq`, the command line: one command a file, each registered here. How a command ends is told by the exit status
 * (exit-status.ts); what went wrong, by report-error.ts.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command, CommanderError } from 'commander'
import { z } from 'zod'
import { registerCancelCommand } from './cancel.ts'
import { EXIT_STATUS } from './exit-status.ts'
import { registerHerderCommand } from './herder.ts'
import { registerInspectCommand } from './inspect.ts'
import { registerListCommand } from './list.ts'
import { createOutput } from './output.ts'
import { registerPauseCommands } from './pause.ts'
import { registerQueueCommand } from './queue.ts'
import { reportError } from './report-error.ts'
import { registerRetryCommand } from './retry.ts'
import { registerShowCommand } from './show.ts'
import { registerSubmitCommand } from './submit.ts'
import { registerTokenCommand } from './token.ts'
import { registerWatchCommand } from './watch.ts'
import { registerWhoAmICommand } from './whoami.ts'

const packageFile = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')
const { version } = z.object({ version: z.string() }).parse(JSON.parse(packageFile))

const program = new Command('wq')
  .description('Submit changes to the work queue service, follow them, and run the service.')
  .version(version)
  .showHelpAfterError('(see wq --help)')
  .addHelpText(
    'after',
    `
Exit status: 0 done, 1 a fault of the program, 2 wrong usage or file, 3 the item failed, 4 it was cancelled, 5 watch timed
out, 6 something cannot be reached, 7 no valid token or no right, 8 refused, 9 not found, 10 not in a state for this.`,
  )
  .exitOverride()

program.commandsGroup('Work items:')
registerSubmitCommand(program)
registerInspectCommand(program)
registerWatchCommand(program)
registerListCommand(program)
registerShowCommand(program)
registerRetryCommand(program)
registerCancelCommand(program)
program.commandsGroup('The service:')
registerQueueCommand(program)
registerPauseCommands(program)
registerHerderCommand(program)
registerWhoAmICommand(program)
registerTokenCommand(program)
// The service takes a second to load; whoever asks it over HTTP should not wait for that.
if (!program.commands.some((command) => command.name() === process.argv[2])) {
  const { registerServiceCommands } = await import('./service-commands.ts')
  registerServiceCommands(program)
}

// A reader that goes away (`wq list | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  throw error
})

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has said what is wrong already; help and version end here too, with 0.
    process.exitCode = error.exitCode === 0 ? EXIT_STATUS.done : EXIT_STATUS.usage
  } else {
    process.exitCode = reportError(error, createOutput(), process.argv.includes('--json'))
  }
}
