import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

/** The status of one dimension without variants; null when it has no row. */
export async function readDimensionStatus(db: Database, id: string, dimension: string): Promise<string | null> {
  const { rows } = await sql<{ status: string }>`
    select status
    from work_item_statuses
    where work_item_id = ${id}
      and dimension = ${dimension}
      and variant = ''`.execute(db)
  return rows[0]?.status ?? null
}
