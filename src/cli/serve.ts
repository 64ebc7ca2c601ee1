/** `wq serve`: the service with a configuration of its own, until it is told to stop. */
import type { Command } from 'commander'
import { startService } from '../app/compose.ts'
import { loadConfig } from '../app/config.ts'
import { createLog } from '../app/log.ts'
import { runUntilSignal } from '../app/signals.ts'

export function registerServeCommand(program: Command): void {
  program
    .command('serve')
    .description('run the service with a configuration file, until SIGTERM or Ctrl-C')
    .requiredOption('-c, --config <file>', 'the configuration, YAML')
    .action(({ config }: { config: string }) => serve(config))
}

/** Logs JSON lines to standard output; a part that cannot start is an error with its cure. */
export async function serve(configFile: string): Promise<void> {
  const config = await loadConfig(configFile, process.env)
  const service = await startService(config, { log: createLog(config.log_level) })
  await runUntilSignal(service.stop)
}
