import { sql } from 'kysely'
import type { Transaction } from '../../db/database.ts'
import type { DimensionDraft } from '../draft.ts'
import type { Phase } from '../work-item.ts'
import { milliseconds } from './interval.ts'

/**
 * Writes what an action or event made of the dimensions. A row that a caller has set since `revision` is left alone: the
 * action did not know of that wish, so it cannot have settled it (decision 0052).
 */
export async function saveDimensions(
  tx: Transaction,
  id: string,
  revision: bigint,
  dimensions: readonly DimensionDraft[],
): Promise<void> {
  if (dimensions.length === 0) return
  const rows = dimensions.map(
    ({ dimension, variant, status, deferMs, note }) =>
      sql`(${id}::uuid, ${dimension}, ${variant}, ${status}, ${
        deferMs === null || status === 'false' ? sql`null` : sql`now() + ${milliseconds(deferMs)}`
      }, ${note}, ${revision}::bigint, now())`,
  )
  await sql`
    insert into work_item_statuses
      (work_item_id, dimension, variant, status, pending_until, note, revision, updated_at)
    values ${sql.join(rows)}
    on conflict (work_item_id, dimension, variant) do update
    set status = excluded.status,
        pending_until = excluded.pending_until,
        note = excluded.note,
        updated_at = excluded.updated_at
    where work_item_statuses.revision <= ${revision}`.execute(tx)
}

/** A caller's write: these dimensions are needed now, whatever stood there, and carry the caller's revision. */
export async function requireDimensions(
  tx: Transaction,
  id: string,
  revision: bigint,
  needed: readonly string[],
  cleared: readonly string[],
): Promise<void> {
  const rows = [
    ...needed.map((dimension) => sql`(${id}::uuid, ${dimension}, '', 'true', ${revision}::bigint, now())`),
    ...cleared.map((dimension) => sql`(${id}::uuid, ${dimension}, '', 'false', ${revision}::bigint, now())`),
  ]
  if (rows.length === 0) return
  await sql`
    insert into work_item_statuses (work_item_id, dimension, variant, status, revision, updated_at)
    values ${sql.join(rows)}
    on conflict (work_item_id, dimension, variant) do update
    set status = excluded.status,
        pending_until = null,
        note = null,
        revision = excluded.revision,
        updated_at = excluded.updated_at`.execute(tx)
}

/**
 * An item has ended: nothing of it is deferred any more, so that it leaves the sweep's index. A completed one needs nothing
 * either; a failed or cancelled one keeps what it still needed, for a retry.
 */
export async function closeDimensions(tx: Transaction, id: string, phase: Phase): Promise<void> {
  await sql`
    update work_item_statuses
    set pending_until = null,
        status = case when ${phase} = 'completed' then 'false' else status end
    where work_item_id = ${id}
      and status = 'true'`.execute(tx)
}
