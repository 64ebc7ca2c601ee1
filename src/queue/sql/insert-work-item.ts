import { sql } from 'kysely'
import type { Transaction } from '../../db/database.ts'
import type { WorkItem } from '../work-item.ts'
import { toWorkItem, type WorkItemRow } from './work-item-row.ts'

export interface NewWorkItem {
  readonly id: string
  readonly itemType: string
  readonly dedupKey: string
  readonly contentHash: string
  readonly callerIdentity: string
}

/**
 * A new item: the next generation of its identity, born actionable. A concurrent insert of the same identity violates the
 * partial unique indexes (SQLSTATE 23505): the caller reads again.
 */
export async function insertWorkItem(tx: Transaction, item: NewWorkItem): Promise<WorkItem> {
  const { rows } = await sql<WorkItemRow>`
    insert into work_items (id, item_type, dedup_key, content_hash, caller_identity, generation, actionable)
    select ${item.id}, ${item.itemType}, ${item.dedupKey}, ${item.contentHash}, ${item.callerIdentity},
           coalesce(max(generation), 0) + 1,
           true
    from work_items
    where dedup_key = ${item.dedupKey}
    returning *`.execute(tx)
  const row = rows[0]
  if (row === undefined) throw new Error('an insert returned no row')
  return toWorkItem(row)
}
