import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import { type Recorded, type RecordedRow, toRecorded } from './outcome-sql.ts'

/**
 * How an item stands that nobody has claimed since this lease: for a worker that does not know whether its outcome was
 * recorded. null when another has claimed it.
 */
export async function readRecorded(
  db: Database,
  { workItemId, epoch }: { readonly workItemId: string; readonly epoch: bigint },
): Promise<Recorded | null> {
  const { rows } = await sql<RecordedRow>`
    select id, phase, revision, wake_count, leased_until is null as released, now() as read_at
    from work_items
    where id = ${workItemId}
      and lease_epoch = ${epoch}`.execute(db)
  return rows[0] === undefined ? null : toRecorded(rows[0])
}
