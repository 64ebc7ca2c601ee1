import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import { lockWorkItem } from './lock-work-item.ts'

export interface Rest {
  readonly rested: boolean
  /** Milliseconds until the nearest deferred dimension comes due; null when none is deferred. */
  readonly wakeInMs: number | null
}

/**
 * The exit: nothing is left to do, so the item goes to rest and the lease is given back, unless something new has come.
 *
 * The advisory lock is taken first and the look comes in a second statement: a statement's snapshot is older than the lock
 * it waits for, so one statement that locked and looked would miss an event whose insert it had just waited for (decision
 * 0034). Writes of callers need no lock here: they bump `revision` on this very row, which the update compares.
 */
export function restWorkItem(db: Database, id: string, epoch: bigint, revision: bigint): Promise<Rest> {
  return db.transaction().execute(async (tx) => {
    await lockWorkItem(tx, id)
    const { rows } = await sql<{ wake_in_ms: number | null }>`
      update work_items
      set actionable = false,
          leased_until = null,
          retry_at = null
      where id = ${id}
        and lease_epoch = ${epoch}
        -- No submission, retry or cancel since the decision was made.
        and revision = ${revision}
        -- No event since the last drain; inserters hold the same lock.
        and not exists (
          select from pending_events
          where work_item_id = ${id}
            and not dead)
      returning (
        select (extract(epoch from min(pending_until) - now()) * 1000)::double precision
        from work_item_statuses
        where work_item_id = ${id}
          and status = 'true'
          and pending_until is not null) as wake_in_ms`.execute(tx)
    const row = rows[0]
    return { rested: row !== undefined, wakeInMs: row?.wake_in_ms ?? null }
  })
}
