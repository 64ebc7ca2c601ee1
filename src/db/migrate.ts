/**
 * The schema's way forward: numbered SQL files under `migrations/`, each run once, in a transaction, by kysely's Migrator
 * under the service's own table names, so that other services may share the database (decision 0019). A server only
 * starts on exactly the schema it was written for; which side is behind is said in the error.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import type { Database } from './database.ts'

const MIGRATIONS_TABLE = 'workqueue_service_migrations'
const MIGRATIONS_DIRECTORY = fileURLToPath(new URL('../../migrations/', import.meta.url))

/**
 * How long a migration waits for a table that somebody uses. While it waits, every later statement on that table waits behind
 * it, so it waits briefly, gives way, and comes again.
 */
const LOCK_TIMEOUT_MS = 500
const BETWEEN_TRIES_MS = 1_000

export interface MigrateOptions {
  /** How long to come again for a table that is in use, by a backup for instance. */
  readonly patienceMs?: number
  /** A table is in use; it is tried again. */
  readonly onWait?: () => void
}

/**
 * Brings the schema up to this program's version, beside running processes. Answers the names of the migrations that ran.
 * @throws WorkQueueError `migration_failed`, `migration_blocked`: nothing of the one that is named was done.
 */
export async function migrate(
  db: Database,
  { patienceMs = 600_000, onWait }: MigrateOptions = {},
): Promise<readonly string[]> {
  const giveUpAt = performance.now() + patienceMs
  const applied: string[] = []
  for (;;) {
    await refuseNewerSchema(db)
    // One at a time: what a migration has locked is free again before the next one begins.
    const { error, results } = await createMigrator(db).migrateUp()
    if (error === undefined) {
      if (results === undefined || results.length === 0) return applied
      applied.push(...results.map((result) => result.migrationName))
      continue
    }
    const failed = results?.find((result) => result.status === 'Error')?.migrationName
    if (failed === undefined) {
      // None was begun: what ran before is not what this program would have run.
      const message = `The schema cannot be brought up to date, and nothing was done: ${messageOf(error)}.`
      throw new WorkQueueError('migration_failed', message, { cause: error })
    }
    if (!isLockTimeout(error)) {
      throw new WorkQueueError('migration_failed', `Migration ${failed} failed and was rolled back.`, { cause: error })
    }
    if (performance.now() > giveUpAt) {
      throw new WorkQueueError(
        'migration_blocked',
        `Migration ${failed} needs a table that another session keeps in use; nothing of it was done. Look for a backup or an open transaction in pg_stat_activity, then run it again.`,
        { cause: error, failure: 'transient' },
      )
    }
    onWait?.()
    await delay(BETWEEN_TRIES_MS * (0.5 + Math.random()))
  }
}

/** lock_not_available. */
function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '55P03'
}

/**
 * @throws WorkQueueError `schema_too_old` (run `wq migrate`) or `schema_too_new` (update the program).
 */
export async function checkSchema(db: Database): Promise<void> {
  await refuseNewerSchema(db)
  const done = new Set(await appliedMigrations(db))
  const missing = [...(await knownMigrations())].filter((name) => !done.has(name))
  if (missing.length > 0) {
    throw new WorkQueueError(
      'schema_too_old',
      `The database lacks ${missing.length} migration(s), the first is ${missing[0]}. Run \`wq migrate\`, then start again.`,
    )
  }
}

async function refuseNewerSchema(db: Database): Promise<void> {
  const known = new Set(await knownMigrations())
  const unknown = (await appliedMigrations(db)).filter((name) => !known.has(name))
  if (unknown.length > 0) {
    throw new WorkQueueError(
      'schema_too_new',
      `The database was migrated by a newer version of this program (${unknown[0]}). Update the program, or use another database.`,
    )
  }
}

async function appliedMigrations(db: Database): Promise<readonly string[]> {
  const { rows: tables } = await sql<{ found: boolean }>`
    select to_regclass(${MIGRATIONS_TABLE}) is not null as found`.execute(db)
  if (tables[0]?.found !== true) return []
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(MIGRATIONS_TABLE)} order by name`.execute(
    db,
  )
  return rows.map((row) => row.name)
}

async function knownMigrations(): Promise<readonly string[]> {
  const files = await readdir(MIGRATIONS_DIRECTORY)
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .sort()
}

function createMigrator(db: Database): Migrator {
  return new Migrator({
    db,
    provider: { getMigrations: readMigrations },
    migrationTableName: MIGRATIONS_TABLE,
    migrationLockTableName: `${MIGRATIONS_TABLE}_lock`,
  })
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const migrations: Record<string, Migration> = {}
  for (const name of await knownMigrations()) {
    const text = await readFile(join(MIGRATIONS_DIRECTORY, `${name}.sql`), 'utf8')
    migrations[name] = {
      async up(tx) {
        await sql.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}; set local statement_timeout = 0`).execute(tx)
        await sql.raw(text).execute(tx)
      },
    }
  }
  return migrations
}
