import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

/** Gives the lease back and leaves `actionable` as it is: whatever is left to do stays visible to the sweep. */
export async function releaseLease(db: Database, id: string, epoch: bigint): Promise<void> {
  await sql`
    update work_items
    set leased_until = null
    where id = ${id}
      and lease_epoch = ${epoch}`.execute(db)
}
