/** The second half that all claims share: who is wanted is known, and the lease is taken. */

import type { Database } from '../../db/database.ts'
import { runPrepared } from '../../db/prepared.ts'
import type { ItemTypes } from './detail-sql.ts'
import { type Observation, type ObservationRow, observationColumns, toObservation } from './observation.ts'

/** A claimed item: the epoch is the proof of the lease in every later write. */
export interface Claimed extends Observation {
  readonly epoch: bigint
  /** Claims in a row, this one included, that ended without an outcome: their processes died, or lost the lease. */
  readonly unfinishedClaims: number
  /** When the item came due, exactly as PostgreSQL has it: microseconds decide where a cursor goes on. */
  readonly dueAt: string
}

/**
 * Takes the lease of every row of `wanted (id)`, for $2 milliseconds.
 *
 * `actionable` becomes true here, so that a crash at any later point leaves the item visible to the sweep even where a
 * deferred dimension, and not `actionable`, was what woke it (decision 0058).
 */
export function claimWanted(itemTypes: ItemTypes): string {
  return `claimed as (
      update work_items
      set leased_until = now() + $2::double precision * interval '1 ms',
          leased_at = now(),
          lease_epoch = lease_epoch + 1,
          actionable = true,
          due_at = case when actionable then due_at else now() end,
          unfinished_claims = unfinished_claims + 1
      from wanted
      join (select id as seen_id, xmin as seen_version from work_items) seen on seen_id = wanted.id
      where work_items.id = wanted.id
        -- Only in the version that is read below. Another worker may have applied an event and gone since this statement began:
        -- the row is free, but what is read here would still hold the event (decision 0059).
        and work_items.xmin = seen_version
      returning work_items.id, work_items.lease_epoch, work_items.unfinished_claims
    )
    select ${observationColumns(itemTypes)}, claimed.lease_epoch as epoch, claimed.unfinished_claims as claims,
           item.due_at::text as due_at_text
    from claimed
    -- As the item was when this statement began, like everything else that is read here.
    join work_items item on item.id = claimed.id
    order by item.due_at, item.id`
}

interface ClaimedRow extends ObservationRow {
  readonly epoch: bigint
  readonly claims: number
  readonly due_at_text: string
}

export async function runClaim(
  db: Database,
  itemTypes: ItemTypes,
  text: string,
  values: readonly unknown[],
): Promise<readonly Claimed[]> {
  const { rows } = await runPrepared<ClaimedRow>(db, text, values)
  return rows.map((row) => ({
    // Read as it was before the claim, but for the lease that is now its own.
    ...toObservation(itemTypes, { ...row, lease_epoch: row.epoch }),
    epoch: row.epoch,
    unfinishedClaims: row.claims,
    dueAt: row.due_at_text,
  }))
}
