import { sql } from 'kysely'
import type { Transaction } from '../../db/database.ts'

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
