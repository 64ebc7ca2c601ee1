/** Runs hot statements: nothing is compiled for a call, and PostgreSQL parses the text once a connection. */
import { CompiledQuery, type QueryResult } from 'kysely'
import type { Database } from './database.ts'
import { PREPARED } from './pool.ts'

const marked = new Map<string, string>()

/**
 * Runs plain text with `$1` parameters as a prepared statement, with a database or a transaction. Texts are kept: make each of
 * them once, never from values. Write a limit as a number rather than as `$1`, which hides from the planner how little is wanted,
 * so that it plans anew at each call.
 */
export function runPrepared<Row>(
  db: Database,
  text: string,
  values: readonly unknown[] = [],
): Promise<QueryResult<Row>> {
  let sent = marked.get(text)
  if (sent === undefined) {
    sent = `${PREPARED} ${text}`
    marked.set(text, sent)
  }
  return db.executeQuery(CompiledQuery.raw(sent, values as unknown[]) as CompiledQuery<Row>)
}
