import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { Dimension } from '../dimension.ts'
import type { WorkItem } from '../work-item.ts'
import type { ListFilter } from '../work-queue.ts'
import { toDimension, toWorkItem } from './work-item-row.ts'

export interface ListedRow {
  readonly item: WorkItem
  readonly dimensions: readonly Dimension[]
}

/** One page, newest first; ids are ordered in time, so the page's last id is the cursor. Also answers the clock. */
export async function listWorkItems(
  db: Database,
  filter: ListFilter & { readonly itemTypes: readonly string[] },
): Promise<{ readonly rows: readonly ListedRow[]; readonly now: Date }> {
  let query = db
    .selectFrom('work_items')
    .selectAll()
    .where(sql<boolean>`item_type = any(${filter.itemTypes})`)
    .orderBy('id', 'desc')
    .limit(filter.limit)
  if (filter.phase !== undefined) query = query.where('phase', '=', filter.phase)
  if (filter.callerIdentity !== undefined) query = query.where('caller_identity', '=', filter.callerIdentity)
  if (filter.search !== undefined) query = query.where('dedup_key', 'ilike', `%${escapeLike(filter.search)}%`)
  if (filter.before !== undefined) query = query.where('id', '<', filter.before)
  const items = await query.execute()
  const { rows: clock } = await sql<{ now: Date }>`select now() as now`.execute(db)
  const now = clock[0]?.now ?? new Date()
  if (items.length === 0) return { rows: [], now }
  const statuses = await db
    .selectFrom('work_item_statuses')
    .selectAll()
    .where(
      'work_item_id',
      'in',
      items.map((item) => item.id),
    )
    .execute()
  const rows = items.map((item) => ({
    item: toWorkItem(item),
    dimensions: statuses.filter((status) => status.work_item_id === item.id).map(toDimension),
  }))
  return { rows, now }
}

/** `%`, `_` and `\` mean themselves in what a person searches for. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, (character) => `\\${character}`)
}
