import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

/** Counts a failure; at the last one the event is dead: kept and shown, and out of the way. Answers whether it died. */
export async function failPendingEvent(
  db: Database,
  eventId: string,
  message: string,
  maxAttempts: number,
): Promise<boolean> {
  const { rows } = await sql<{ dead: boolean }>`
    update pending_events
    set attempts = attempts + 1,
        error = ${message},
        dead = attempts + 1 >= ${maxAttempts}
    where id = ${eventId}::bigint
    returning dead`.execute(db)
  return rows[0]?.dead ?? false
}
