/**
 * `node test/protocol/run.ts [full …] [--minutes 15]`: explores the named scenarios, or all of them, on a PostgreSQL of its own,
 * and prints one JSON line each. Ends with 1 when one has a counterexample, or was not explored to its end.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openDatabase } from '../../src/db/database.ts'
import { startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { explore, type Scenario } from './explorer.ts'
import { installHeldClock } from './held-clock.ts'
import { SCENARIOS } from './scenarios.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string', default: '15' } },
})
const scenarios: Readonly<Record<string, Scenario>> = SCENARIOS
const directory = await mkdtemp(join(tmpdir(), 'workqueue-protocol-'))
const server = await startEmbeddedPostgres({ dataDir: join(directory, 'postgres'), durable: false })
try {
  const db = openDatabase({ url: server.url, maxConnections: 1 })
  await migrate(db)
  await installHeldClock(db)
  await db.destroy()
  for (const name of positionals.length > 0 ? positionals : Object.keys(scenarios)) await run(name)
} finally {
  await server.remove()
  await rm(directory, { recursive: true, force: true })
}

async function run(name: string): Promise<void> {
  const scenario = scenarios[name]
  if (scenario === undefined) throw new Error(`there is no scenario ${name}; there are ${Object.keys(scenarios)}`)
  const found = await explore(server.url, scenario, Number(values.minutes) * 60_000)
  process.stdout.write(`${JSON.stringify({ scenario: name, ...found, schedules: String(found.schedules) })}\n`)
  if (!found.isComplete) process.exitCode = 1
}
