/** `wq config check`: reads a configuration as the service would, and prints what it settles to, secrets masked. */
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { checkFiles, loadConfig, maskConfig } from '../app/config.ts'

export function registerConfigCommand(program: Command): void {
  program
    .command('config')
    .description('look at a configuration')
    .command('check')
    .description('check a configuration file, and what it names, and print the settled result, secrets masked')
    .argument('<file>', 'the configuration, YAML')
    .option('--json', 'print JSON')
    .action(async (file: string, { json }: { json?: true }) => {
      const config = await loadConfig(file, process.env)
      await checkFiles(config)
      const settled = withDurations(maskConfig(config))
      console.log(json ? JSON.stringify(settled) : `# ${file} is valid.\n${stringify(settled)}`)
    })
}

/** The keys whose value is a duration; inside the program it is a number of milliseconds. */
export const DURATION_KEYS: ReadonlySet<string> = new Set([
  ...[
    'action_timeout',
    'backoff_base',
    'backoff_max',
    'empty_check_interval',
    'expires_after',
    'item_deadline',
    'lease',
  ],
  ...['max_lifetime', 'max_open_for', 'open_for', 'pipeline_poll', 'reconcile_interval', 'retention', 'shutdown_grace'],
  ...['delay', 'inspection_budget', 'max_delay', 'remember', 'sweep_interval', 'timeout', 'transient_budget'],
  ...['visibility_timeout', 'window'],
])

/** As they are written in a configuration, so that what is printed is one. */
function withDurations(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, inner: unknown) =>
    typeof inner === 'number' && DURATION_KEYS.has(key) ? durationText(inner) : inner,
  )
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

function durationText(milliseconds: number): string {
  const unit = UNITS.find(([, length]) => milliseconds > 0 && milliseconds % length === 0)
  return unit === undefined ? `${milliseconds}ms` : `${milliseconds / unit[1]}${unit[0]}`
}
