/**
 * How a statement reads an item together with its dimensions, its waiting events and its detail, and what becomes of the
 * row. Everything comes from one snapshot of the database: a statement that also claims the item must read it as it was in
 * that snapshot, and not as its own update returns it. The update sees the newest version of the row, the other tables are
 * seen as of the statement's start; `wake_count` and `revision` of the newest version would vouch for events and content
 * that were not read (decision 0059).
 */
import { messageOf, WorkQueueError } from '../../lib/errors.ts'
import type { Dimension } from '../dimension.ts'
import type { PendingEvent, Snapshot } from '../item-type.ts'
import { type ItemTypes, selectDetail } from './detail-sql.ts'
import { toDimension, toWorkItem, type WorkItemRow } from './work-item-row.ts'

/** An item as it was read, with the events that wait for it. */
export interface Observation {
  readonly snapshot: Snapshot<unknown>
  /** Oldest first. */
  readonly events: readonly PendingEvent[]
  /** There are more events than were read. */
  readonly moreEvents: boolean
  /** Why the detail could not be read; then `snapshot.detail` is nothing. One such item must not spoil what is read with it. */
  readonly unreadable: string | null
}

const EVENTS_AT_A_TIME = 20

/** The select list over `work_items` called `item`, and a join for nothing else. */
export function observationColumns(itemTypes: ItemTypes): string {
  return `item.*, now() as read_at,
    (
      select coalesce(json_agg(dimension_row order by dimension, variant), '[]')
      from work_item_statuses dimension_row
      where dimension_row.work_item_id = item.id
    ) as dimensions,
    (
      select coalesce(json_agg(event_row order by event_row.id), '[]')
      from (
        select id, event_type, event_at, body
        from pending_events
        where work_item_id = item.id
          and not dead
        order by id
        limit ${EVENTS_AT_A_TIME}
      ) event_row
    ) as events,
    ${selectDetail(itemTypes, 'item')} as detail`
}

export interface ObservationRow extends WorkItemRow {
  readonly read_at: Date
  readonly dimensions: readonly DimensionJson[]
  readonly events: readonly EventJson[]
  readonly detail: Readonly<Record<string, unknown>> | null
}

export function toObservation(itemTypes: ItemTypes, row: ObservationRow): Observation {
  const item = toWorkItem(row)
  let detail: unknown
  let unreadable: string | null = null
  try {
    detail = toDetail(itemTypes, item.itemType, item.id, row.detail)
  } catch (error) {
    unreadable = messageOf(error)
  }
  return {
    snapshot: { item, detail, dimensions: row.dimensions.map(dimensionFromJson), now: row.read_at },
    events: row.events.map(eventFromJson),
    moreEvents: row.events.length === EVENTS_AT_A_TIME,
    unreadable,
  }
}

/** @throws WorkQueueError `detail_missing`: somebody has removed the detail row by hand. */
export function toDetail(
  itemTypes: ItemTypes,
  itemType: string,
  id: string,
  row: Readonly<Record<string, unknown>> | null,
): unknown {
  const type = itemTypes.get(itemType)
  if (type === undefined) throw new Error(`work item ${id} is of type ${itemType}, which is not handled here`)
  if (row === null) {
    throw new WorkQueueError('detail_missing', `Work item ${id} has no row in ${type.details.table}.`)
  }
  return type.details.toDetail(row)
}

/** A row of work_item_statuses after its way through jsonb: instants are text there. */
export interface DimensionJson {
  readonly work_item_id: string
  readonly dimension: string
  readonly variant: string
  readonly status: string
  readonly pending_until: string | null
  readonly note: string | null
  readonly revision: number
  readonly updated_at: string
}

export function dimensionFromJson(json: DimensionJson): Dimension {
  return toDimension({
    ...json,
    revision: BigInt(json.revision),
    pending_until: json.pending_until === null ? null : new Date(json.pending_until),
    updated_at: new Date(json.updated_at),
  })
}

interface EventJson {
  readonly id: number
  readonly event_type: string
  readonly event_at: string
  readonly body: unknown
}

function eventFromJson({ id, event_type, event_at, body }: EventJson): PendingEvent {
  return { id: String(id), eventType: event_type, eventAt: new Date(event_at), body }
}
