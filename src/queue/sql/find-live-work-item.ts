import { sql } from 'kysely'
import type { Transaction } from '../../db/database.ts'
import type { WorkItem } from '../work-item.ts'
import { toWorkItem, type WorkItemRow } from './work-item-row.ts'

/**
 * The one live (active or failed) item of an identity, locked until the transaction ends, so that two submissions of the
 * same branch follow one another.
 */
export async function findLiveWorkItem(tx: Transaction, dedupKey: string): Promise<WorkItem | null> {
  const { rows } = await sql<WorkItemRow>`
    select *
    from work_items
    where dedup_key = ${dedupKey}
      and phase in ('active', 'failed')
    for update`.execute(tx)
  return rows[0] === undefined ? null : toWorkItem(rows[0])
}
