/** How a claim chooses among candidates: of each concurrency key no more than there is room for (decision 0063). */
import type { ItemTypes } from './detail-sql.ts'

export interface ClaimOptions {
  readonly leaseMs: number
  /** Items at most. */
  readonly limit: number
  /** How many more items of a key this process may work on, for the keys it is working on now. */
  readonly freeByKey: ReadonlyMap<string, number>
  /** The same for all other keys. */
  readonly freePerKey: number
}

/** $1 to $7 of every claim. */
export function claimParameters(itemTypes: ItemTypes, options: ClaimOptions): readonly unknown[] {
  const { leaseMs, limit, freeByKey, freePerKey } = options
  const full = [...freeByKey].filter(([, free]) => free <= 0).map(([key]) => key)
  return [[...itemTypes.keys()], leaseMs, limit, [...freeByKey.keys()], [...freeByKey.values()], freePerKey, full]
}

/**
 * A free item of a handled type: nobody holds it, or its holder has not been heard of for a whole lease. The type is asked for
 * in a way that the planner does not take for rare.
 */
export const IS_FREE = `
  array_position($1::text[], item_type) is not null
  and (leased_until is null or leased_until < now())`

/** Keys with no room left are not even looked at, so that a crowd of one key does not hide the others. */
export const HAS_ROOM = `
  (concurrency_key is null or concurrency_key <> all ($7::text[]))`

/**
 * CTE `wanted (id)`: those of `candidates (id, due_at, concurrency_key)` that are taken, oldest due first. Candidates are
 * locked already; those that are not taken are free again at the end of the statement.
 */
export const CHOOSE_WANTED = `room as (
      select key, free from unnest($4::text[], $5::int[]) as room (key, free)
    ),
    placed as (
      select id, due_at, concurrency_key,
             row_number() over (partition by concurrency_key order by due_at, id) as place
      from candidates
    ),
    wanted as materialized (
      select placed.id
      from placed
      left join room on room.key = placed.concurrency_key
      where placed.concurrency_key is null or placed.place <= coalesce(room.free, $6::int)
      order by due_at, id
      limit $3::int
    )`
