/**
 * Counts what is awake, in groups: items that are due, running or in backoff, and events. It reads the partial index of
 * actionable items, the deferred dimensions that have come due, and the stored events, so that its cost follows the backlog
 * and not what exists: 45 ms with 20,000 items due among 1,000,000.
 */
import { sql } from 'kysely'
import type { Transaction } from '../../db/database.ts'

/** Items that are awake, and events, of one group. An item is in one of `due`, `running` and `backoff` at most. */
export interface AwakeNumbers {
  /** The time has come, and nobody holds the lease. */
  readonly due: number
  readonly oldestDueAt: Date | null
  readonly running: number
  /** To be tried again later, after a failure. */
  readonly backoff: number
  readonly nextRetryAt: Date | null
  /** Of active items, like dead ones: those of others can change nothing any more. */
  readonly pendingEvents: number
  readonly oldestEventAt: Date | null
  readonly deadEvents: number
}

export interface KeyNumbers extends AwakeNumbers {
  readonly itemType: string
  readonly concurrencyKey: string
}

export interface Awake {
  readonly byType: ReadonlyMap<string, AwakeNumbers>
  /** At most 50, those with most due first; a key of which nothing is awake is left out. */
  readonly byKey: readonly KeyNumbers[]
}

const MAX_KEYS = 50

interface AwakeRow {
  readonly item_type: string
  readonly concurrency_key: string | null
  readonly is_type: boolean
  readonly due: number
  readonly oldest_due_at: Date | null
  readonly running: number
  readonly backoff: number
  readonly next_retry_at: Date | null
  readonly pending_events: number
  readonly oldest_event_at: Date | null
  readonly dead_events: number
}

/** Only of these types. */
export async function countAwake(tx: Transaction, itemTypes: readonly string[]): Promise<Awake> {
  const { rows } = await sql<AwakeRow>`
    with entries as (
      select item_type, concurrency_key, due_at as at,
             case
               when leased_until >= now() then 'running'
               when due_at <= now() then 'due'
               else 'backoff'
             end as kind
      from work_items
      where actionable
        and phase = 'active'
        and item_type = any(${itemTypes})
      union all
      -- At rest, with a deferred dimension that has come due: nobody was awake for it yet.
      select item_type, concurrency_key, min(pending_until), 'due'
      from work_item_statuses
      join work_items on work_items.id = work_item_id
      where status = 'true'
        and pending_until <= now()
        and not actionable
        and phase = 'active'
        and item_type = any(${itemTypes})
      group by work_items.id
      union all
      -- Those of an item that has ended, dead or not, can change nothing any more.
      select item_type, concurrency_key, received_at, case when dead then 'dead_event' else 'event' end
      from pending_events
      join work_items on work_items.id = work_item_id
      where phase = 'active'
        and item_type = any(${itemTypes})
    ),
    groups as (
      select item_type, concurrency_key,
             grouping(concurrency_key) = 1 as is_type,
             count(*) filter (where kind = 'due')::int as due,
             min(at) filter (where kind = 'due') as oldest_due_at,
             count(*) filter (where kind = 'running')::int as running,
             count(*) filter (where kind = 'backoff')::int as backoff,
             min(at) filter (where kind = 'backoff') as next_retry_at,
             count(*) filter (where kind = 'event')::int as pending_events,
             min(at) filter (where kind = 'event') as oldest_event_at,
             count(*) filter (where kind = 'dead_event')::int as dead_events
      from entries
      group by grouping sets ((item_type), (item_type, concurrency_key))
    ),
    ranked as (
      select groups.*,
             row_number() over (
               partition by is_type
               order by due desc, running desc, backoff desc, item_type, concurrency_key
             ) as rank
      from groups
      -- Of the rows of keys, those that have one.
      where is_type
         or concurrency_key is not null
    )
    select *
    from ranked
    where is_type
       or rank <= ${MAX_KEYS}
    order by rank`.execute(tx)
  return {
    byType: new Map(rows.filter((row) => row.is_type).map((row) => [row.item_type, toAwake(row)])),
    byKey: rows.flatMap((row) => {
      const { item_type: itemType, concurrency_key: concurrencyKey } = row
      return concurrencyKey === null ? [] : [{ itemType, concurrencyKey, ...toAwake(row) }]
    }),
  }
}

function toAwake(row: AwakeRow): AwakeNumbers {
  return {
    due: row.due,
    oldestDueAt: row.oldest_due_at,
    running: row.running,
    backoff: row.backoff,
    nextRetryAt: row.next_retry_at,
    pendingEvents: row.pending_events,
    oldestEventAt: row.oldest_event_at,
    deadEvents: row.dead_events,
  }
}

export const NOTHING_AWAKE: AwakeNumbers = {
  due: 0,
  oldestDueAt: null,
  running: 0,
  backoff: 0,
  nextRetryAt: null,
  pendingEvents: 0,
  oldestEventAt: null,
  deadEvents: 0,
}
