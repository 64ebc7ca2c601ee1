import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

/**
 * Ids of items that are due and that nobody holds, oldest due first: three probes of partial indexes, so that the cost
 * follows what is due and not what exists (decisions 0035 and 0048). `itemTypes` empty finds nothing (decision 0025).
 */
export async function findDueWorkItems(
  db: Database,
  itemTypes: readonly string[],
  limit: number,
): Promise<readonly string[]> {
  if (itemTypes.length === 0 || limit <= 0) return []
  const free = sql`
    phase = 'active'
    and item_type = any(${itemTypes})
    and (leased_until is null or leased_until < now())`
  const { rows } = await sql<{ id: string }>`
    with due as (
      (
        -- Work that was handed in, or is to be tried again.
        select id, coalesce(retry_at, created_at) as due_at
        from work_items
        where actionable
          and coalesce(retry_at, created_at) <= now()
          and ${free}
        order by coalesce(retry_at, created_at)
        limit ${limit}
      )
      union all
      (
        -- Events without a worker; they are drained even while a failed action waits for its next try.
        select work_item_id, received_at
        from pending_events
        join work_items on work_items.id = work_item_id
        where not dead
          and ${free}
        order by pending_events.id
        limit ${limit}
      )
      union all
      (
        -- Deferred dimensions that have come due; an item in backoff waits for its retry instead.
        select work_item_id, pending_until
        from work_item_statuses
        join work_items on work_items.id = work_item_id
        where status = 'true'
          and pending_until <= now()
          and coalesce(retry_at <= now(), true)
          and ${free}
        order by pending_until
        limit ${limit}
      )
    )
    select id
    from due
    group by id
    order by min(due_at)
    limit ${limit}`.execute(db)
  return rows.map((row) => row.id)
}
