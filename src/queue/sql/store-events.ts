import type { Database } from '../../db/database.ts'
import { runPrepared } from '../../db/prepared.ts'
import type { IncomingEvent } from '../item-type.ts'
import type { Locking } from './outcome-sql.ts'

/** A sender's clock may be ahead by this much; an event from further in the future is taken as happening now. */
const CLOCK_TOLERANCE_MINUTES = 5

export interface NewEvent {
  readonly workItemId: string
  readonly event: IncomingEvent
}

/** `stored` and woken; `known`: the same delivery again; `refused`: the item is not active (or, in a group, its row was locked). */
export type Storing = 'stored' | 'known' | 'refused'

/**
 * Stores events and makes their items actionable. Each adds to its item's `wake_count`, on the row and in the statement: a
 * worker that is about to go to rest either sees that number or has gone, and then finds the item actionable again
 * (decision 0059). No lock is held beyond the statement.
 */
export function createStoreEvents(db: Database) {
  const texts = { skip: text('skip'), wait: text('wait') }
  return async (events: readonly NewEvent[], locking: Locking): Promise<readonly Storing[]> => {
    const input = events.map(({ workItemId, event }, place) => ({
      place,
      work_item_id: workItemId,
      event_type: event.eventType,
      event_at: event.eventAt,
      body: event.body,
      source_id: event.sourceId,
    }))
    const { rows } = await runPrepared<{ place: number; stored: boolean }>(db, texts[locking], [JSON.stringify(input)])
    const found = new Map(rows.map(({ place, stored }) => [place, stored]))
    return events.map((_, place) => {
      const stored = found.get(place)
      if (stored === undefined) return 'refused'
      return stored ? 'stored' : 'known'
    })
  }
}

function text(locking: Locking): string {
  return `
    with input as materialized (
      select input.*,
             case when source_id is null then null
                  else row_number() over (partition by work_item_id, source_id order by place) end as copy
      from jsonb_to_recordset($1::jsonb) input
        (place int, work_item_id uuid, event_type text, event_at timestamptz, body jsonb, source_id text)
    ),
    held as materialized (
      -- Held until the commit, so that the item cannot end between the two writes below.
      select item.id
      from work_items item
      where item.id in (select work_item_id from input)
        and item.phase = 'active'
      for no key update of item ${locking === 'skip' ? 'skip locked' : ''}
    ),
    stored as (
      insert into pending_events (work_item_id, event_type, event_at, body, source_id)
      select input.work_item_id, input.event_type,
             -- An event dated far ahead would make every later one look stale.
             case
               when input.event_at > now() + make_interval(mins => ${CLOCK_TOLERANCE_MINUTES}) then now()
               else input.event_at
             end,
             input.body, input.source_id
      from input
      join held on held.id = input.work_item_id
      where coalesce(input.copy, 1) = 1
      order by input.place
      on conflict (work_item_id, source_id) where source_id is not null do nothing
      returning work_item_id, source_id
    ),
    woken as (
      update work_items item
      set actionable = true,
          due_at = case when item.actionable then item.due_at else now() end,
          wake_count = item.wake_count + 1
      where item.id in (select work_item_id from stored)
    )
    select input.place,
           input.source_id is null
             or (input.copy = 1 and exists (
               select from stored
               where stored.work_item_id = input.work_item_id
                 and stored.source_id = input.source_id)) as stored
    from input
    join held on held.id = input.work_item_id`
}
