import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

/**
 * Counts a failure; at the last one the event is dead: kept and shown, and out of the way. Answers whether it died; null when
 * the lease is lost.
 */
export async function failPendingEvent(
  db: Database,
  { workItemId, epoch }: { readonly workItemId: string; readonly epoch: bigint },
  eventId: string,
  message: string,
  maxAttempts: number,
): Promise<boolean | null> {
  const { rows } = await sql<{ dead: boolean }>`
    update pending_events
    set attempts = attempts + 1,
        error = ${message},
        dead = attempts + 1 >= ${maxAttempts}
    where id = ${eventId}::bigint
      and exists (
        select
        from work_items
        where work_items.id = ${workItemId}
          and lease_epoch = ${epoch}
          and leased_until is not null)
    returning dead`.execute(db)
  return rows[0]?.dead ?? null
}
