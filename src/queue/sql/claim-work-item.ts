import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import { milliseconds } from './interval.ts'

/**
 * Takes the lease of one item for `leaseMs`; answers the new epoch, or null when someone else holds it or the item is not
 * active. All instants are the database's.
 *
 * `actionable` becomes true here, so that a crash at any later point leaves the item visible to the sweep even where a
 * deferred dimension, and not `actionable`, was what woke it (decision 0058).
 */
export async function claimWorkItem(db: Database, id: string, leaseMs: number): Promise<bigint | null> {
  const { rows } = await sql<{ lease_epoch: bigint }>`
    update work_items
    set leased_until = now() + ${milliseconds(leaseMs)},
        lease_epoch = lease_epoch + 1,
        actionable = true
    where id = ${id}
      and phase = 'active'
      -- Free, or held by a worker that has not been heard of for a whole lease.
      and (leased_until is null or leased_until < now())
    returning lease_epoch`.execute(db)
  return rows[0]?.lease_epoch ?? null
}
