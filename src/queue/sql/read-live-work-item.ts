import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { WorkItem } from '../work-item.ts'
import { toWorkItem, type WorkItemRow } from './work-item-row.ts'

/** The one live (active or failed) item of an identity, only read: it may be another one a moment later. */
export async function readLiveWorkItem(db: Database, dedupKey: string): Promise<WorkItem | null> {
  const { rows } = await sql<WorkItemRow>`
    select *
    from work_items
    where dedup_key = ${dedupKey}
      and phase in ('active', 'failed')`.execute(db)
  return rows[0] === undefined ? null : toWorkItem(rows[0])
}
