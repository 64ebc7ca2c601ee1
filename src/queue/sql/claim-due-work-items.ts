import type { Database } from '../../db/database.ts'
import { CHOOSE_WANTED, type ClaimOptions, claimParameters, HAS_ROOM, IS_FREE } from './choose-sql.ts'
import { type Claimed, claimWanted, runClaim } from './claim-sql.ts'
import type { ItemTypes } from './detail-sql.ts'

/** Where a look at the queue begins: behind this item, in the order in which items come due, or so much before it. */
export interface ClaimCursor {
  readonly dueAt: string
  readonly id: string
  readonly stepBackMs: number
}

export const FROM_THE_START: ClaimCursor = {
  dueAt: '-infinity',
  id: '00000000-0000-0000-0000-000000000000',
  stepBackMs: 0,
}

/** Sizes of a claim. */
const SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500]

/** The largest size within a limit. Callers that ask for it get what they asked for. */
export function claimSize(limit: number): number {
  return SIZES.findLast((size) => size <= limit) ?? 1
}

/**
 * A statement for each size: a limit that is written out tells the planner how little is wanted, and lets it keep its plan. As
 * a parameter it would stand for a tenth of the table, and be planned for anew each time.
 */
function eachSize(write: (limit: number) => string): (limit: number) => string {
  const texts = new Map(SIZES.map((size) => [size, write(size)]))
  return (limit) => texts.get(claimSize(limit)) ?? write(limit)
}

/** Work that was handed in, woken or is to be tried again. */
function ready(limit: number, after: string): string {
  return `
      select id, due_at, concurrency_key
      from work_items
      where actionable
        and due_at <= now()
        and ${IS_FREE}
        and ${HAS_ROOM}
        ${after}
      order by due_at, id
      limit ${limit}
      for no key update skip locked`
}

/**
 * Claims the next items behind the cursor: one range of one index, without what this process has already claimed. A look
 * that always began at the left edge would pass all that was claimed before and could not yet be vacuumed, which under an
 * old transaction is everything (decision 0061). Items that come due behind the cursor are left to the sweep.
 */
export function createClaimReadyWorkItems(db: Database, itemTypes: ItemTypes) {
  const behind = "and (due_at, id) > ($8::timestamptz - $10::double precision * interval '1 ms', $9::uuid)"
  const texts = eachSize(
    (limit) => `
    with candidates as materialized (${ready(limit, behind)}
    ),
    ${CHOOSE_WANTED},
    ${claimWanted(itemTypes)}`,
  )
  return (cursor: ClaimCursor, options: ClaimOptions): Promise<readonly Claimed[]> =>
    runClaim(db, itemTypes, texts(options.limit), [
      ...claimParameters(itemTypes, options),
      ...[cursor.dueAt, cursor.id, cursor.stepBackMs],
    ])
}

/**
 * The sweep: claims whatever is due and nobody holds, oldest first. Three probes of partial indexes, so that the cost
 * follows what is due and not what exists (decisions 0035 and 0048). No types: nothing is due (decision 0025).
 */
export function createSweepWorkItems(db: Database, itemTypes: ItemTypes) {
  const texts = eachSize((limit) => sweepText(itemTypes, limit))
  return (options: ClaimOptions): Promise<readonly Claimed[]> =>
    runClaim(db, itemTypes, texts(options.limit), claimParameters(itemTypes, options))
}

/** The item of a probe's row, locked. Lateral, so that a planner without statistics cannot begin with the items. */
function itemOf(probe: string, condition: string): string {
  return `
        select id, concurrency_key
        from work_items
        where id = ${probe}.work_item_id
          and phase = 'active'
          and ${IS_FREE}
          and ${HAS_ROOM}
          ${condition}
        for no key update skip locked`
}

/** Exported for the test of its plan and for the benchmark. */
export function sweepText(itemTypes: ItemTypes, limit: number): string {
  return `
    with handed_in as materialized (${ready(limit, '')}
    ),
    with_events as materialized (
      -- Events without a worker; they are drained even while a failed action waits for its next try.
      select item.id, received_at as due_at, concurrency_key
      from pending_events
      cross join lateral (${itemOf('pending_events', '')}
      ) item
      where not dead
        -- Each item once, by its first event: one with very many must not fill the claim alone.
        and pending_events.id = (
          select id
          from pending_events first_one
          where first_one.work_item_id = pending_events.work_item_id
            and not first_one.dead
          order by id
          limit 1)
      order by pending_events.id
      limit ${limit}
    ),
    deferred as materialized (
      -- Deferred dimensions that have come due; an item in backoff waits for its retry instead.
      select item.id, pending_until as due_at, concurrency_key
      from work_item_statuses
      cross join lateral (${itemOf('work_item_statuses', 'and coalesce(retry_at <= now(), true)')}
      ) item
      where status = 'true'
        and pending_until <= now()
      order by pending_until
      limit ${limit}
    ),
    candidates as (
      select id, min(due_at) as due_at, concurrency_key
      from (select * from handed_in union all select * from with_events union all select * from deferred) due
      group by id, concurrency_key
    ),
    ${CHOOSE_WANTED},
    ${claimWanted(itemTypes)}`
}
