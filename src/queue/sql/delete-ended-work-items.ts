import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import { milliseconds } from './interval.ts'

/**
 * Deletes items that ended longer ago than `olderThanMs`, oldest first, `limit` at most; their dimensions, events and details
 * go with them. Answers how many. Rows that somebody holds (a retry, another process's housekeeping) are left for the next
 * time.
 */
export async function deleteEndedWorkItems(db: Database, olderThanMs: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from work_items
    where id in (
      select id
      from work_items
      where phase <> 'active'
        and ended_at < now() - ${milliseconds(olderThanMs)}
      order by ended_at
      limit ${limit}
      for update skip locked)`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
