/** `wq migrate`: brings the database's schema up to this program; run it before a new version starts. */
import type { Command } from 'commander'
import { loadConfig } from '../app/config.ts'
import { createLog } from '../app/log.ts'
import { migrateProgramDatabase } from '../app/open-database.ts'

export function registerMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description("bring the database's schema up to this version of the program")
    .requiredOption('-c, --config <file>', 'the configuration, YAML')
    .option('--json', 'print JSON')
    .action(migrateCommand)
}

async function migrateCommand({ config: file, json }: { config: string; json?: true }): Promise<void> {
  const config = await loadConfig(file, process.env)
  const { description, applied } = await migrateProgramDatabase(config.database, createLog('warn'))
  if (json) console.log(JSON.stringify({ database: description, applied }))
  else if (applied.length === 0) console.log(`The schema is up to date (${description}).`)
  else console.log([`Migrated ${description}:`, ...applied.map((name) => `  ${name}`)].join('\n'))
}
