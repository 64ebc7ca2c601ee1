/**
 * The connection pool as kysely takes it, with three things that `pg` leaves to its user. It survives PostgreSQL: a connection
 * that breaks is logged and replaced, never an unhandled error that ends the process. A statement whose text begins with
 * PREPARED is sent as a named prepared statement, so that a connection parses it once; where a pooler makes that impossible,
 * it is noticed, said once and given up. And behind a pooler, which takes no timeouts for a session, a statement that takes
 * too long is given up on this side: it is cancelled, and its connection is never used again.
 */
import { createHash } from 'node:crypto'
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import pg from 'pg'
import { messageOf } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { cancelOnServer } from './cancel.ts'

export interface PoolOptions {
  readonly url: string
  readonly maxConnections: number
  /** A pooler in transaction mode is in between: it takes no session settings and keeps no prepared statements. */
  readonly pooler: boolean
  readonly log: Log
  /** No statement of ours needs longer; one that does is a fault, and the item is tried again. */
  readonly statementTimeoutMs: number
}

/** How a text asks to be prepared. Its name is kept for ever, so such texts must be of a fixed number. */
export const PREPARED = '/* prepared */'

const CONNECT_TIMEOUT_MS = 10_000

export function createPool({ url, maxConnections, pooler, log, statementTimeoutMs }: PoolOptions): PostgresPool {
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'workqueue-service',
    types: { getTypeParser },
    ...(pooler
      ? { query_timeout: statementTimeoutMs }
      : { statement_timeout: statementTimeoutMs, idle_in_transaction_session_timeout: statementTimeoutMs }),
  })
  pool.on('error', (error) => {
    log.warn({ error: messageOf(error) }, 'an idle database connection broke; it is replaced at the next statement')
  })
  // The pool listens only to idle connections. One that breaks between two statements of a transaction would otherwise be an
  // unhandled error, which ends the process; its next statement fails, and that is where it is dealt with.
  pool.on('connect', (client) => {
    client.on('error', (error) => {
      log.warn({ error: messageOf(error) }, 'a database connection broke while it was in use')
    })
  })
  const statements = createStatementNames(!pooler, log)
  const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>()
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect()
      const known = clients.get(client)
      if (known !== undefined) return known
      const wrapped = new ServiceClient(client, statements)
      clients.set(client, wrapped)
      return wrapped
    },
  }
}

class ServiceClient implements PostgresPoolClient {
  readonly #client: pg.PoolClient
  readonly #statements: StatementNames

  constructor(client: pg.PoolClient, statements: StatementNames) {
    this.#client = client
    this.#statements = statements
  }

  query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>
  query<R>(
    what: string | PostgresCursor<R>,
    values: readonly unknown[] = [],
  ): Promise<PostgresQueryResult<R>> | PostgresCursor<R> {
    if (typeof what !== 'string') throw new Error('this pool has no cursors')
    return this.#run(what, values) as Promise<PostgresQueryResult<R>>
  }

  release(destroy?: boolean): void {
    this.#client.release(destroy)
  }

  async #run(text: string, values: readonly unknown[]): Promise<pg.QueryResult> {
    const statement = { text, values: values as unknown[] }
    const name = this.#statements.nameOf(text)
    const isInTransaction = this.#client.getTransactionStatus() !== 'I'
    try {
      return await this.#client.query(name === null ? statement : { ...statement, name })
    } catch (error) {
      if (isAbandoned(error)) await this.#giveUp()
      // Refused before it ran, so it may run again; in a transaction not, which is aborted now.
      if (name === null || !this.#statements.isRefused(error) || isInTransaction) throw error
      return await this.#client.query(statement)
    }
  }

  /** The statement still runs, and its answer would be taken for that of the next one: the pool drops a client that is ending. */
  async #giveUp(): Promise<void> {
    await cancelOnServer(this.#client)
    void this.#client.end()
  }
}

function isAbandoned(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

interface StatementNames {
  /** null: to be sent without a name. */
  nameOf(text: string): string | null
  /** Whether the error says that a prepared statement could not be used; then no, or new, names are given from now on. */
  isRefused(error: unknown): boolean
}

/** Names are made of the text alone: a pooler may hand a connection to somebody else, and the same name must mean the same. */
function createStatementNames(enabled: boolean, log: Log): StatementNames {
  const names = new Map<string, string>()
  let isOn = enabled
  let version = 0
  return {
    nameOf(text) {
      if (!isOn || !text.startsWith(PREPARED)) return null
      const known = names.get(text)
      if (known !== undefined) return known
      const name = `wq${version}_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
      names.set(text, name)
      return name
    },
    isRefused(error) {
      if (!(error instanceof pg.DatabaseError)) return false
      if (isOutdatedPlan(error)) {
        version += 1
        names.clear()
        return true
      }
      if (!isLostStatement(error)) return false
      if (isOn)
        log.info({ error: error.message }, 'a connection pooler is in between: statements are no longer prepared')
      isOn = false
      return true
    },
  }
}

/** Not known to this server connection, known already from somebody else, or not to the pooler's taste. */
function isLostStatement({ code, message }: pg.DatabaseError): boolean {
  return code === '26000' || code === '42P05' || (code === '08P01' && /prepared statement/i.test(message))
}

/** A migration has changed a table beneath the statement: under another name it is made anew. */
function isOutdatedPlan({ code, message }: pg.DatabaseError): boolean {
  return code === '0A000' && message.startsWith('cached plan must not change result type')
}

/**
 * Most instants come as `2026-12-01 04:38:38.305842+00`, which is ISO 8601 but for two characters; the engine reads that many
 * times faster than the driver does. Whatever looks otherwise (infinity, years before Christ) is left to the driver.
 */
function readInstant(text: string): unknown {
  if (text.length < 22 || text.length > 29 || !text.endsWith('+00')) return parseInstant(text)
  return new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
}

const INT8_OID = 20
const TIMESTAMPTZ_OID = 1184
const parseInstant = pg.types.getTypeParser(TIMESTAMPTZ_OID)

/** int8 as bigint: an epoch compared as text or rounded as a double would be no fence. */
const getTypeParser: typeof pg.types.getTypeParser = ((oid: number, format?: 'text' | 'binary') => {
  if (format !== 'binary') {
    if (oid === INT8_OID) return (text: string) => BigInt(text)
    if (oid === TIMESTAMPTZ_OID) return readInstant
  }
  return pg.types.getTypeParser(oid, format as 'text')
}) as typeof pg.types.getTypeParser
