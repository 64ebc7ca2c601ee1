/**
 * The program's database: the configured PostgreSQL, which must already have this program's schema, or the embedded one,
 * which is brought up to date here, since nobody else looks after it.
 */
import { type Database, openDatabase, pingDatabase } from '../db/database.ts'
import { startEmbeddedPostgres } from '../db/embedded.ts'
import { checkSchema, migrate } from '../db/migrate.ts'
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { type Config, maskUrl } from './config.ts'

export interface OpenDatabase {
  readonly db: Database
  /** What to tell people: the address without its password, or the embedded server's data directory. */
  readonly description: string
  close(): Promise<void>
}

/** @throws WorkQueueError `database_unavailable`, `schema_too_old`, `schema_too_new`, `embedded_postgres_unavailable`. */
export async function openProgramDatabase(
  { url, max_connections: maxConnections, data_dir: dataDir }: Config['database'],
  log: Log,
): Promise<OpenDatabase> {
  const prepare = async (db: Database) => void (await (url === undefined ? migrate(db) : checkSchema(db)))
  const { database } = await open({ url, maxConnections, dataDir }, log, prepare)
  return database
}

/** Brings the configured database up to this program's schema; answers the migrations that ran. */
export async function migrateProgramDatabase(
  { url, max_connections: maxConnections, data_dir: dataDir }: Config['database'],
  log: Log,
): Promise<{ readonly description: string; readonly applied: readonly string[] }> {
  const { database, prepared } = await open({ url, maxConnections, dataDir }, log, migrate)
  await database.close()
  return { description: database.description, applied: prepared }
}

interface Where {
  readonly url: string | undefined
  readonly maxConnections: number
  readonly dataDir: string
}

async function open<T>(
  { url, maxConnections, dataDir }: Where,
  log: Log,
  prepare: (db: Database) => Promise<T>,
): Promise<{ readonly database: OpenDatabase; readonly prepared: T }> {
  const embedded = url === undefined ? await startEmbeddedPostgres({ dataDir }) : null
  const db = openDatabase({ url: embedded?.url ?? url ?? '', maxConnections, log })
  const close = async () => {
    await db.destroy()
    await embedded?.stop()
  }
  try {
    await assertAnswers(db, url)
    const prepared = await prepare(db)
    const description = embedded === null ? maskUrl(url ?? '') : `embedded, in ${embedded.dataDir}`
    return { database: { db, description, close }, prepared }
  } catch (error) {
    await close()
    throw error
  }
}

async function assertAnswers(db: Database, url: string | undefined): Promise<void> {
  try {
    await pingDatabase(db)
  } catch (error) {
    const where = url === undefined ? 'The embedded PostgreSQL' : `PostgreSQL at ${maskUrl(url)}`
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
