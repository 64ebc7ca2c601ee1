/**
 * Counts what exists, and what rests until a time has come. Most items of a queue are at rest, there may be millions, and no
 * index holds them by type: one for this alone would cost every submission. So both counts stop at 10,000, which bounds the
 * cost: a quarter of a second over 1,000,000 items that memory does not hold, where counting them all took 0.8 s.
 */
import { sql } from 'kysely'
import type { Transaction } from '../../db/database.ts'

export interface RestingNumbers {
  /** All active items, awake or at rest. */
  readonly active: number
  /** Those at rest that have a time. */
  readonly deferred: number
  readonly nextLookAt: Date | null
  /** False: there are more than were counted, and `active` and `deferred` are at least what they say. */
  readonly countedAll: boolean
}

const LIMIT = 10_000

interface Row {
  readonly item_type: string
  readonly active: number
  readonly deferred: number
  readonly next_look_at: Date | null
  readonly counted_all: boolean
}

/** One entry for each of these types, in their order. */
export async function countResting(
  tx: Transaction,
  itemTypes: readonly string[],
): Promise<readonly (RestingNumbers & { readonly itemType: string })[]> {
  const { rows } = await sql<Row>`
    with active as (
      select item_type, count(*)::int as active
      from (
        select item_type
        from work_items
        where phase = 'active'
          and item_type = any(${itemTypes})
        limit ${LIMIT}
      ) as first_ones
      group by item_type
    ),
    nearest as (
      select work_item_id, pending_until
      from work_item_statuses
      where status = 'true'
        and pending_until > now()
      order by pending_until
      limit ${LIMIT}
    ),
    deferred as (
      select item_type, count(distinct work_item_id)::int as deferred, min(pending_until) as next_look_at
      from nearest
      cross join lateral (
        select item_type
        from work_items
        where id = work_item_id
          and phase = 'active'
          and not actionable
        -- Keeps the planner to one probe for each, where it would read the whole table for a join.
        limit 1
      ) as item
      -- An item that also has a dimension that has come due is due.
      where work_item_id not in (
        select work_item_id
        from work_item_statuses
        where status = 'true'
          and pending_until <= now())
      group by item_type
    )
    select item_type,
           coalesce(active, 0) as active,
           coalesce(deferred, 0) as deferred,
           next_look_at,
           (select coalesce(sum(active), 0) < ${LIMIT} from active)
             and (select count(*) < ${LIMIT} from nearest) as counted_all
    from unnest(${itemTypes}::text[]) with ordinality as asked (item_type, position)
    left join active using (item_type)
    left join deferred using (item_type)
    order by position`.execute(tx)
  return rows.map(({ item_type, active, deferred, next_look_at, counted_all }) => {
    return { itemType: item_type, active, deferred, nextLookAt: next_look_at, countedAll: counted_all }
  })
}
