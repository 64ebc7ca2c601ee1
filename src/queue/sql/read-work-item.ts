import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { Dimension } from '../dimension.ts'
import type { WorkItem } from '../work-item.ts'
import { type DimensionJson, dimensionFromJson } from './observation.ts'
import { toWorkItem, type WorkItemRow } from './work-item-row.ts'

export interface ReadWorkItem {
  readonly item: WorkItem
  readonly dimensions: readonly Dimension[]
  /** The database's clock at the read. */
  readonly now: Date
}

/** One item with its dimensions, as of one instant; null when it does not exist. */
export async function readWorkItem(db: Database, id: string): Promise<ReadWorkItem | null> {
  const { rows } = await sql<WorkItemRow & { read_at: Date; dimensions: DimensionJson[] }>`
    select work_items.*,
           now() as read_at,
           (
             select coalesce(json_agg(work_item_statuses order by dimension, variant), '[]')
             from work_item_statuses
             where work_item_id = work_items.id
           ) as dimensions
    from work_items
    where id = ${id}`.execute(db)
  const row = rows[0]
  if (row === undefined) return null
  return { item: toWorkItem(row), dimensions: row.dimensions.map(dimensionFromJson), now: row.read_at }
}
