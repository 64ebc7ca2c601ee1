/**
 * The connection pool and the typed query builder over it. This is the only home of `pg`. The pool survives PostgreSQL:
 * an idle connection that breaks is logged and replaced, never an unhandled error that ends the process.
 */
import { Kysely, type Transaction as KyselyTransaction, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { messageOf } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { DB } from './schema.ts'

/** Runs statements; a Transaction is one too. */
export type Database = Kysely<DB>
export type Transaction = KyselyTransaction<DB>

export interface DatabaseOptions {
  readonly url: string
  /** Connections at most; each worker holds one for the length of a statement or transaction. */
  readonly maxConnections?: number
  readonly log?: Log
}

const CONNECT_TIMEOUT_MS = 10_000
/** No statement of ours needs longer; one that does is a fault, and the item is tried again. */
const STATEMENT_TIMEOUT_MS = 30_000

/** Opens a pool; connects at the first statement. Close it with `destroy()`. */
export function openDatabase({ url, maxConnections = 20, log }: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    application_name: 'workqueue-service',
    types: { getTypeParser },
  })
  pool.on('error', (error) => {
    log?.warn({ error: messageOf(error) }, 'an idle database connection broke; it is replaced at the next statement')
  })
  // The pool listens only to idle connections. One that breaks between two statements of a transaction would otherwise be an
  // unhandled error, which ends the process; its next statement fails, and that is where it is dealt with.
  pool.on('connect', (client) => {
    client.on('error', (error) => {
      log?.warn({ error: messageOf(error) }, 'a database connection broke while it was in use')
    })
  })
  return new Kysely<DB>({ dialect: new PostgresDialect({ pool }) })
}

/** Throws what the driver says when the database does not answer. */
export async function pingDatabase(db: Database): Promise<void> {
  await sql`select 1`.execute(db)
}

const INT8_OID = 20

/** int8 as bigint: an epoch compared as text or rounded as a double would be no fence. */
const getTypeParser: typeof pg.types.getTypeParser = ((oid: number, format?: 'text' | 'binary') => {
  if (oid === INT8_OID && format !== 'binary') return (text: string) => BigInt(text)
  return pg.types.getTypeParser(oid, format as 'text')
}) as typeof pg.types.getTypeParser
