import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

export type OpenItemsColumn = 'caller_identity' | 'concurrency_key'

/** Active items of one caller or one key, counted no further than `limit`: a read of so many entries of an index. */
export async function countOpenItems(
  db: Database,
  column: OpenItemsColumn,
  name: string,
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ readonly items: number }>`
    select count(*)::int as items
    from (
      select 1
      from work_items
      where ${sql.ref(column)} = ${name}
        and phase = 'active'
      limit ${limit}
    ) open`.execute(db)
  return rows[0]?.items ?? 0
}
