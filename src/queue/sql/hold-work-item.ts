import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

/**
 * Gives an item back that a pause holds, due again after a while. The pause may have ended without this process knowing yet:
 * then the item stays due, or whoever resumed it would wait for nothing. The lock on the pause keeps its end from passing by
 * unseen; it is taken before the item's (endPause).
 */
export async function holdWorkItem(
  db: Database,
  { id, epoch }: { readonly id: string; readonly epoch: bigint },
  pauseId: string,
  holdMs: number,
): Promise<void> {
  await sql`
    with pause as materialized (
      select id from pauses where id = ${pauseId} for key share
    )
    update work_items
    set leased_until = null,
        unfinished_claims = 0,
        due_at = case
          when exists (select from pause) then now() + ${holdMs}::float8 * interval '1 ms'
          else due_at
        end
    where id = ${id}
      and lease_epoch = ${String(epoch)}::bigint`.execute(db)
}
