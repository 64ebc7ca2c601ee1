/**
 * Watches what this process sends to PostgreSQL, at the driver: exact, and nobody else's statements are among it. Statements
 * are told from the words that only begin and end a transaction, which cost a round trip but no work.
 */
import pg from 'pg'

export interface StatementCounter {
  /** Without begin, commit and rollback. */
  readonly statements: number
  readonly roundTrips: number
  stop(): void
}

const TRANSACTION_CONTROL = /^\s*(begin|start transaction|commit|rollback|savepoint|release)\b/i

export function countStatements(): StatementCounter {
  let statements = 0
  let roundTrips = 0
  const stop = watchStatements((text) => {
    roundTrips += 1
    if (!TRANSACTION_CONTROL.test(text)) statements += 1
  })
  return {
    get statements() {
      return statements
    },
    get roundTrips() {
      return roundTrips
    },
    stop,
  }
}

/** Hears every statement of every connection of this process until it is stopped. */
export function watchStatements(hear: (text: string, values: readonly unknown[]) => void): () => void {
  const original: unknown = Reflect.get(pg.Client.prototype, 'query')
  if (typeof original !== 'function') throw new Error('the driver has no query to watch')
  function watched(this: unknown, ...args: unknown[]): unknown {
    const [query, values] = args
    if (typeof query === 'string') hear(query, Array.isArray(values) ? values : [])
    else if (isConfig(query)) hear(query.text, Array.isArray(values) ? values : (query.values ?? []))
    return Reflect.apply(original as () => unknown, this, args)
  }
  Reflect.set(pg.Client.prototype, 'query', watched)
  return () => void Reflect.set(pg.Client.prototype, 'query', original)
}

function isConfig(query: unknown): query is { readonly text: string; readonly values?: readonly unknown[] } {
  return typeof query === 'object' && query !== null && 'text' in query && typeof query.text === 'string'
}
