/**
 * The program's database: the configured PostgreSQL, which must already have this program's schema, or the embedded one,
 * which is brought up to date here, since nobody else looks after it.
 */
import { connectDatabase, type Database, type DatabaseOptions } from '../db/database.ts'
import { startEmbeddedPostgres } from '../db/embedded.ts'
import { checkSchema, migrate } from '../db/migrate.ts'
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { type Config, maskUrl } from './config.ts'

export interface OpenDatabase {
  readonly db: Database
  /** What to tell people: the address without its password, or the embedded server's data directory. */
  readonly description: string
  /** Where to listen for other processes' wake-ups; null: it is switched off. */
  readonly wakeUrl: string | null
  close(): Promise<void>
}

/** @throws WorkQueueError `database_unavailable`, `schema_too_old`, `schema_too_new`, `embedded_postgres_unavailable`. */
export async function openProgramDatabase(config: Config['database'], log: Log): Promise<OpenDatabase> {
  const prepare = async (db: Database) => void (await (config.url === undefined ? migrate(db) : checkSchema(db)))
  const { database } = await open(config, log, prepare)
  return database
}

/** Brings the configured database up to this program's schema; answers the migrations that ran. */
export async function migrateProgramDatabase(
  config: Config['database'],
  log: Log,
): Promise<{ readonly description: string; readonly applied: readonly string[] }> {
  const { database, prepared } = await open(config, log, (db) =>
    migrate(db, { onWait: () => log.info({}, 'a migration waits for a table that another session uses') }),
  )
  await database.close()
  return { description: database.description, applied: prepared }
}

async function open<T>(
  config: Config['database'],
  log: Log,
  prepare: (db: Database) => Promise<T>,
): Promise<{ readonly database: OpenDatabase; readonly prepared: T }> {
  const embedded = config.url === undefined ? await startEmbeddedPostgres({ dataDir: config.data_dir }) : null
  let db: Database | null = null
  const close = async () => {
    await db?.destroy()
    await embedded?.stop()
  }
  try {
    const url = embedded?.url ?? config.url ?? ''
    const where = embedded === null ? `PostgreSQL at ${maskUrl(url)}` : 'The embedded PostgreSQL'
    db = await connect({ url, maxConnections: config.max_connections, log }, where)
    const prepared = await prepare(db)
    const description = embedded === null ? maskUrl(url) : `embedded, in ${embedded.dataDir}`
    const wakeUrl = config.wake_channel ? (config.listen_url ?? url) : null
    return { database: { db, description, wakeUrl, close }, prepared }
  } catch (error) {
    await close()
    throw error
  }
}

async function connect(options: DatabaseOptions, where: string): Promise<Database> {
  try {
    return await connectDatabase(options)
  } catch (error) {
    throw new WorkQueueError(
      'database_unavailable',
      `${where} does not answer: ${reason(error)}. Start it, or correct DATABASE_URL (or database.url).`,
      { cause: error, failure: 'transient' },
    )
  }
}

/** A refused connection to a name with several addresses is an AggregateError with an empty message. */
function reason(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0])
  return messageOf(error)
}
