/**
 * The statements over events that were set aside after too many failures (decision 0033). Every one of them goes through
 * the partial index of dead events, so that its cost follows them and not the events that pass. None reads a body.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { Phase } from '../work-item.ts'

export interface DeadEvent {
  readonly id: string
  readonly workItemId: string
  readonly itemType: string
  readonly dedupKey: string
  /** Of its item: only an active one takes events. */
  readonly phase: Phase
  readonly eventType: string
  readonly eventAt: Date
  readonly receivedAt: Date
  readonly attempts: number
  readonly error: string | null
}

export interface DeadEventFilter {
  readonly itemTypes: readonly string[]
  readonly workItemId?: string
  readonly limit: number
  /** The last id of the page before; events come newest first. */
  readonly before?: string
}

export interface RevivedEvent {
  readonly id: string
  readonly workItemId: string
  readonly itemType: string
  readonly eventType: string
}

interface DeadEventRow {
  readonly id: bigint
  readonly work_item_id: string
  readonly item_type: string
  readonly dedup_key: string
  readonly phase: string
  readonly event_type: string
  readonly event_at: Date
  readonly received_at: Date
  readonly attempts: number
  readonly error: string | null
}

export async function listDeadEvents(
  db: Database,
  { itemTypes, workItemId, limit, before }: DeadEventFilter,
): Promise<readonly DeadEvent[]> {
  if (itemTypes.length === 0) return []
  return select(
    db,
    sql`
      item_type = any(${itemTypes})
      and work_item_id = coalesce(${workItemId ?? null}::uuid, work_item_id)
      and pending_events.id < coalesce(${before ?? null}::bigint, 9223372036854775807)`,
    limit,
  )
}

/** null when there is no such event, or it is not dead. */
export async function findDeadEvent(db: Database, eventId: string): Promise<DeadEvent | null> {
  const [event] = await select(db, sql`pending_events.id = ${eventId}::bigint`, 1)
  return event ?? null
}

async function select(db: Database, condition: RawBuilder<unknown>, limit: number): Promise<readonly DeadEvent[]> {
  const { rows } = await sql<DeadEventRow>`
    select pending_events.id, work_item_id, item_type, dedup_key, phase,
           event_type, event_at, received_at, pending_events.attempts, error
    from pending_events
    join work_items on work_items.id = work_item_id
    where dead
      and ${condition}
    order by pending_events.id desc
    limit ${limit}`.execute(db)
  return rows.map((row) => ({
    id: String(row.id),
    workItemId: row.work_item_id,
    itemType: row.item_type,
    dedupKey: row.dedup_key,
    phase: row.phase as Phase,
    eventType: row.event_type,
    eventAt: row.event_at,
    receivedAt: row.received_at,
    attempts: row.attempts,
    error: row.error,
  }))
}

/** Gives one dead event its tries back and makes its item actionable; null when it is not dead or the item not active. */
export async function reviveDeadEvent(db: Database, eventId: string): Promise<RevivedEvent | null> {
  const dead = sql`pending_events.id = ${eventId}::bigint and dead`
  const [event] = await revive(db, sql`(select work_item_id from pending_events where ${dead})`, dead)
  return event ?? null
}

/** The same for all dead events of an item; none when it has none or is not active. */
export function reviveDeadEventsOf(db: Database, workItemId: string): Promise<readonly RevivedEvent[]> {
  return revive(db, sql`${workItemId}::uuid`, sql`work_item_id = ${workItemId}::uuid and dead`)
}

interface RevivedRow {
  readonly id: bigint
  readonly work_item_id: string
  readonly item_type: string
  readonly event_type: string
}

/**
 * The item first: its row lock is what every exit and every end of the item goes through, so that the event cannot come
 * back to an item that has just ended, and an exit that was decided before finds its wake count moved.
 */
async function revive(
  db: Database,
  itemId: RawBuilder<unknown>,
  events: RawBuilder<unknown>,
): Promise<readonly RevivedEvent[]> {
  const { rows } = await sql<RevivedRow>`
    with item as (
      update work_items
      set actionable = true,
          due_at = case when actionable then due_at else now() end,
          wake_count = wake_count + 1
      where id = ${itemId}
        and phase = 'active'
        and exists (select from pending_events where ${events})
      returning id, item_type
    )
    update pending_events
    set dead = false,
        attempts = 0,
        error = null
    from item
    where work_item_id = item.id
      and ${events}
    returning pending_events.id, work_item_id, item_type, event_type`.execute(db)
  return rows.map((row) => ({
    id: String(row.id),
    workItemId: row.work_item_id,
    itemType: row.item_type,
    eventType: row.event_type,
  }))
}
