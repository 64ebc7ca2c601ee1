/**
 * The typed query builder over the pool. `connectDatabase` is for programs: it makes sure that the database answers, and finds
 * out whether a connection pooler stands in between. The pool itself, the home of `pg`, is in `pool.ts`.
 */
import { Kysely, type Transaction as KyselyTransaction, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { type Log, silentLog } from '../lib/log.ts'
import { createPool } from './pool.ts'
import type { DB } from './schema.ts'

/** Runs statements; a Transaction is one too. */
export type Database = Kysely<DB>
export type Transaction = KyselyTransaction<DB>

export interface DatabaseOptions {
  readonly url: string
  /** Connections at most; each worker holds one for the length of a statement or transaction. */
  readonly maxConnections?: number
  readonly log?: Log
  /** A pooler in transaction mode is in between; `connectDatabase` finds that out. */
  readonly pooler?: boolean
  readonly statementTimeoutMs?: number
}

const STATEMENT_TIMEOUT_MS = 30_000

/** Opens a pool; connects at the first statement. Close it with `destroy()`. */
export function openDatabase(options: DatabaseOptions): Database {
  const { url, maxConnections = 20, pooler = false, log = silentLog } = options
  const { statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options
  const pool = createPool({ url, maxConnections, pooler, log, statementTimeoutMs })
  return new Kysely<DB>({ dialect: new PostgresDialect({ pool }) })
}

/** Opens a pool that has answered. Throws what the driver says when the database does not. */
export async function connectDatabase(options: DatabaseOptions): Promise<Database> {
  const db = openDatabase(options)
  try {
    if (await keepsSettings(db)) return db
  } catch (error) {
    if (!isSettingRefused(error)) {
      await db.destroy()
      throw error
    }
  }
  await db.destroy()
  options.log?.info(
    {},
    'a connection pooler is in between: timeouts are kept on this side, and statements are not prepared',
  )
  const pooled = openDatabase({ ...options, pooler: true })
  try {
    await pingDatabase(pooled)
    return pooled
  } catch (error) {
    await pooled.destroy()
    throw error
  }
}

/** Throws what the driver says when the database does not answer. */
export async function pingDatabase(db: Database): Promise<void> {
  await sql`select 1`.execute(db)
}

/** A pooler that was told to ignore our settings drops them without a word; the role may have the same ones of its own. */
async function keepsSettings(db: Database): Promise<boolean> {
  const { rows } = await sql<{ source: string }>`
    select source from pg_settings where name = 'statement_timeout'`.execute(db)
  return rows[0]?.source === 'client'
}

/** PgBouncer's words; it has no code of its own for it. */
function isSettingRefused(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.message.startsWith('unsupported startup parameter')
}
