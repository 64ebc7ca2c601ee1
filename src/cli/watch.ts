/**
 * `wq watch`: follows a work item to its end. It prints a line when something changed, and the exit status tells how the
 * item ended. An outage of the service in between is said once and waited out, for the work goes on without the watcher;
 * a service that was never there is an error at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Client } from '../client/client.ts'
import type { WorkItemView } from '../contract/work-item.ts'
import { parseDuration } from '../lib/duration.ts'
import { WorkQueueError } from '../lib/errors.ts'
import { type ConnectionOptions, connect, withConnection } from './connection.ts'
import { progressText } from './describe-item.ts'
import { EXIT_STATUS } from './exit-status.ts'
import { colorOfPhase, createOutput, type Output, printable } from './output.ts'

export interface WatchOptions {
  /** Milliseconds. */
  readonly interval: number
  /** Milliseconds; absent = to the end. */
  readonly timeout?: number
  readonly json?: boolean
}

const DEFAULT_INTERVAL_MS = 1_000
/** An outage that lasts longer is told to the caller. */
const MAX_OUTAGE_MS = 5 * 60_000

export function withWatching(command: Command): Command {
  return command
    .addOption(
      new Option('--interval <duration>', 'how often to look')
        .argParser(readDuration)
        .default(DEFAULT_INTERVAL_MS, '1s'),
    )
    .option('--timeout <duration>', 'give up after this time, such as 30s or 10m', readDuration)
}

export function registerWatchCommand(program: Command): void {
  const command = program
    .command('watch')
    .description('follow a work item to its end')
    .argument('<id>', 'the id of a work item')
  withWatching(withConnection(command))
    .addHelpText('after', '\nExit status: 0 completed, 3 failed, 4 cancelled, 5 timed out, 6 service not reachable.')
    .action(async (id: string, options: ConnectionOptions & WatchOptions) => {
      process.exitCode = await watchWorkItem(await connect(options), id, options, createOutput())
    })
}

/** Answers the exit status. @throws WorkQueueError `watch_timeout`, or what the service answers. */
export async function watchWorkItem(
  client: Client,
  id: string,
  { interval, timeout, json }: WatchOptions,
  output: Output,
): Promise<number> {
  const startedAt = performance.now()
  let shown = ''
  let outageSince: number | null = null
  for (;;) {
    const item = await client.get(id).catch((error: unknown) => {
      const now = performance.now()
      if (shown === '' || !isOutage(error) || now - (outageSince ?? now) > MAX_OUTAGE_MS) throw error
      if (outageSince === null) output.complain(`${printable(error.message)} Still watching…`)
      outageSince ??= now
      return null
    })
    if (item !== null) {
      outageSince = null
      const said = json ? JSON.stringify(item) : progressText(item).said
      if (said !== shown) output.print(json ? said : lineOf(item, output))
      shown = said
      if (item.phase !== 'active') return STATUS_OF_PHASE[item.phase]
    }
    if (timeout !== undefined && performance.now() - startedAt + interval > timeout) {
      throw new WorkQueueError(
        'watch_timeout',
        `Work item ${id} is not over after ${Math.round(timeout / 1_000)} s. It goes on; look again with wq watch ${id}.`,
      )
    }
    await sleep(interval)
  }
}

const STATUS_OF_PHASE = {
  completed: EXIT_STATUS.done,
  failed: EXIT_STATUS.failed,
  cancelled: EXIT_STATUS.cancelled,
} as const

function lineOf(item: WorkItemView, { colors }: Output): string {
  const time = new Date().toTimeString().slice(0, 8)
  const { text } = progressText(item)
  const phase = text.slice(0, text.indexOf('  ') === -1 ? text.length : text.indexOf('  '))
  return `${colors.dim(time)}  ${colorOfPhase(colors, item.phase)(phase)}${text.slice(phase.length)}`
}

function isOutage(error: unknown): error is WorkQueueError {
  return error instanceof WorkQueueError && error.failure === 'transient'
}

function readDuration(text: string): number {
  const milliseconds = parseDuration(text)
  if (milliseconds === null || milliseconds === 0) {
    throw new InvalidArgumentError('Write a duration such as 500ms, 30s or 10m.')
  }
  return milliseconds
}
