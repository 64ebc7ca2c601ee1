import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { WorkItem } from '../work-item.ts'
import type { ListFilter } from '../work-queue.ts'

export type FoundItem = Pick<WorkItem, 'id' | 'itemType' | 'dedupKey' | 'concurrencyKey'>

/** One page, newest first; ids are ordered in time, so the page's last id is the cursor. */
export async function listWorkItems(
  db: Database,
  filter: Omit<ListFilter, 'isVisible'> & { readonly itemTypes: readonly string[] },
): Promise<readonly FoundItem[]> {
  let query = db
    .selectFrom('work_items')
    .select(['id', 'item_type as itemType', 'dedup_key as dedupKey', 'concurrency_key as concurrencyKey'])
    .where(sql<boolean>`item_type = any(${filter.itemTypes})`)
    .orderBy('id', 'desc')
    .limit(filter.limit)
  if (filter.phase !== undefined) query = query.where('phase', '=', filter.phase)
  if (filter.callerIdentity !== undefined) query = query.where('caller_identity', '=', filter.callerIdentity)
  if (filter.search !== undefined) query = query.where('dedup_key', 'ilike', `%${escapeLike(filter.search)}%`)
  if (filter.before !== undefined) query = query.where('id', '<', filter.before)
  return query.execute()
}

/** `%`, `_` and `\` mean themselves in what a person searches for. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, (character) => `\\${character}`)
}
