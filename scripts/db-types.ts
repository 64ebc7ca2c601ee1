/**
 * Writes src/db/schema.ts, the table types, from a freshly migrated database. `--verify` only compares, for the checks.
 */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../src/db/database.ts'
import { startEmbeddedPostgres } from '../src/db/embedded.ts'
import { migrate } from '../src/db/migrate.ts'

const directory = await mkdtemp(join(tmpdir(), 'workqueue-types-'))
const server = await startEmbeddedPostgres({ dataDir: join(directory, 'postgres'), durable: false })
const db = openDatabase({ url: server.url })
await migrate(db)
await db.destroy()
const { status } = spawnSync(
  'kysely-codegen',
  [
    ...['--dialect', 'postgres', '--url', server.url, '--out-file', 'src/db/schema.ts'],
    ...['--exclude-pattern', '*workqueue_service_migrations*', '--type-mapping', '{"int8":"bigint"}'],
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit' },
)
await server.remove()
await rm(directory, { recursive: true, force: true })
process.exitCode = status ?? 1
