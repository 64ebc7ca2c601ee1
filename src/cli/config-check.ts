/** `wq config check`: reads a configuration as the service would, and prints what it settles to, secrets masked. */
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { loadConfig, maskConfig } from '../app/config.ts'

export function registerConfigCommand(program: Command): void {
  program
    .command('config')
    .description('look at a configuration')
    .command('check')
    .description('check a configuration file and print the settled result, secrets masked')
    .argument('<file>', 'the configuration, YAML')
    .option('--json', 'print JSON')
    .action(async (file: string, { json }: { json?: true }) => {
      const settled = maskConfig(await loadConfig(file, process.env))
      console.log(
        json ? JSON.stringify(settled) : `# ${file} is valid. Durations are in milliseconds.\n${stringify(settled)}`,
      )
    })
}
