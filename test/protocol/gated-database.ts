/**
 * A kysely database whose statements go nowhere by themselves: each is parked until somebody answers it. An actor over it is
 * real code of the queue that stops before every statement. It can be started anew and brought back to where it was, by
 * answering its first statements from memory: between two statements it depends on nothing but those answers.
 */
import {
  type CompiledQuery,
  type DatabaseConnection,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import type { Database } from '../../src/db/database.ts'
import type { DB } from '../../src/db/schema.ts'

export interface Row {
  readonly [column: string]: unknown
}

/** What an actor waits for. A statement outside a transaction is one of its own. */
export type Parked =
  | { readonly kind: 'statement'; readonly text: string; readonly values: readonly unknown[]; readonly alone: boolean }
  | { readonly kind: 'commit' | 'rollback' }

export interface Answer {
  readonly to: Parked
  readonly rows: readonly Row[]
}

export interface Gate {
  readonly db: Database
  /** All answers so far, those from memory included. */
  readonly answers: readonly Answer[]
  /** null while it is running, or has ended. */
  parked(): Parked | null
  answer(rows: readonly Row[]): void
  /** Resolves at the next statement beyond those that were answered from memory. */
  nextPark(): Promise<void>
}

export function createGate(remembered: readonly Answer[]): Gate {
  const answers: Answer[] = []
  let parked: { readonly what: Parked; readonly resolve: (rows: readonly Row[]) => void } | null = null
  let arrival = Promise.withResolvers<void>()

  function park(what: Parked): Promise<readonly Row[]> {
    const known = remembered[answers.length]
    if (known !== undefined) {
      answers.push(known)
      return Promise.resolve(known.rows)
    }
    const { promise, resolve } = Promise.withResolvers<readonly Row[]>()
    parked = { what, resolve }
    arrival.resolve()
    return promise
  }

  return {
    db: createDatabase(park),
    answers,
    parked: () => parked?.what ?? null,
    answer(rows) {
      if (parked === null) throw new Error('nothing is parked')
      const { what, resolve } = parked
      parked = null
      arrival = Promise.withResolvers<void>()
      answers.push({ to: what, rows })
      resolve(rows)
    },
    nextPark: () => arrival.promise,
  }
}

function createDatabase(park: (what: Parked) => Promise<readonly Row[]>): Database {
  class Connection implements DatabaseConnection {
    alone = true
    async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
      const rows = await park({ kind: 'statement', text: sql, values: parameters, alone: this.alone })
      return { rows: rows as R[] }
    }
    streamQuery(): never {
      throw new Error('the queue does not stream')
    }
  }
  return new Kysely<DB>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createDriver: () => ({
        async init() {},
        acquireConnection: async () => new Connection(),
        async beginTransaction(connection) {
          if (connection instanceof Connection) connection.alone = false
        },
        commitTransaction: async () => void (await park({ kind: 'commit' })),
        rollbackTransaction: async () => void (await park({ kind: 'rollback' })),
        async releaseConnection() {},
        async destroy() {},
      }),
    },
  })
}
