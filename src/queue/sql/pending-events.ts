/**
 * The statements over `pending_events`: stored raw, drained oldest first, deleted in the transaction that applied them
 * (decisions 0030 to 0034).
 */
import { sql } from 'kysely'
import type { Database, Transaction } from '../../db/database.ts'
import type { IncomingEvent, PendingEvent } from '../item-type.ts'
import { lockWorkItem } from './lock-work-item.ts'

/** A sender's clock may be ahead by this much; an event from further in the future is taken as happening now. */
const CLOCK_TOLERANCE_MINUTES = 5

/**
 * Stores an event for one item and makes the item actionable, under the lock that its worker's exit takes. False when it
 * was nothing new (the same delivery again) or the item is no longer active.
 */
export function insertPendingEvent(db: Database, id: string, event: IncomingEvent): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    await lockWorkItem(tx, id)
    // Held until the commit, so that the item cannot end between the two writes below.
    const { rows } = await sql`select from work_items where id = ${id} and phase = 'active' for update`.execute(tx)
    if (rows.length === 0) return false
    const { numAffectedRows } = await sql`
      insert into pending_events (work_item_id, event_type, event_at, body, source_id)
      values (
        ${id}, ${event.eventType},
        -- An event dated far ahead would make every later one look stale.
        case
          when ${event.eventAt}::timestamptz > now() + make_interval(mins => ${CLOCK_TOLERANCE_MINUTES}) then now()
          else ${event.eventAt}::timestamptz
        end,
        ${JSON.stringify(event.body)}::jsonb,
        ${event.sourceId}
      )
      on conflict (work_item_id, source_id) where source_id is not null do nothing`.execute(tx)
    if (numAffectedRows !== 1n) return false
    await sql`update work_items set actionable = true where id = ${id} and not actionable`.execute(tx)
    return true
  })
}

interface PendingEventRow {
  readonly id: bigint
  readonly event_type: string
  readonly event_at: Date
  readonly body: unknown
}

/** The oldest event of the item that is still to be applied; null when there is none. */
export async function nextPendingEvent(db: Database, id: string): Promise<PendingEvent | null> {
  const { rows } = await sql<PendingEventRow>`
    select id, event_type, event_at, body
    from pending_events
    where work_item_id = ${id}
      and not dead
    order by id
    limit 1`.execute(db)
  const row = rows[0]
  return row === undefined
    ? null
    : { id: String(row.id), eventType: row.event_type, eventAt: row.event_at, body: row.body }
}

export async function deletePendingEvent(tx: Transaction, eventId: string): Promise<void> {
  await sql`delete from pending_events where id = ${eventId}::bigint`.execute(tx)
}

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
