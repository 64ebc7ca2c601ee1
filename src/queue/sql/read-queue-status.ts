/**
 * What the queue is doing, in numbers and in the items that tell most, all of one instant: one read-only transaction over
 * one snapshot. It takes no lock.
 */
import { sql } from 'kysely'
import type { Database, Transaction } from '../../db/database.ts'
import { type AwakeNumbers, countAwake, type KeyNumbers, NOTHING_AWAKE } from './count-awake.ts'
import { countResting, type RestingNumbers } from './count-resting.ts'

export interface Numbers extends AwakeNumbers, RestingNumbers {}

export interface TypeNumbers extends Numbers {
  readonly itemType: string
}

export interface RunningItem {
  readonly id: string
  readonly itemType: string
  readonly dedupKey: string
  readonly concurrencyKey: string | null
  /** Due or worked on since then without having come to rest; its claim is not older. */
  readonly leasedAt: Date
  readonly leasedUntil: Date
  readonly attempts: number
}

export interface DueItem {
  readonly id: string
  readonly itemType: string
  readonly since: Date
}

export interface QueueNumbers {
  readonly now: Date
  readonly byType: readonly TypeNumbers[]
  /** At most 50, those with most due first; a key of which nothing is awake is left out. */
  readonly byKey: readonly KeyNumbers[]
  /** At most 20, busy for longest first. */
  readonly running: readonly RunningItem[]
  readonly oldestDue: DueItem | null
}

const MAX_RUNNING = 20

/** Only of items of these types. */
export function readQueueStatus(db: Database, itemTypes: readonly string[]): Promise<QueueNumbers> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const { byType, byKey } = await countAwake(tx, itemTypes)
      const resting = await countResting(tx, itemTypes)
      return {
        now: await readClock(tx),
        byType: resting.map((numbers) => ({ ...(byType.get(numbers.itemType) ?? NOTHING_AWAKE), ...numbers })),
        byKey,
        running: await readRunning(tx, itemTypes),
        oldestDue: await readOldestDue(tx, itemTypes),
      }
    })
}

interface RunningRow {
  readonly id: string
  readonly item_type: string
  readonly dedup_key: string
  readonly concurrency_key: string | null
  readonly leased_at: Date
  readonly leased_until: Date
  readonly attempts: number
}

async function readRunning(tx: Transaction, itemTypes: readonly string[]): Promise<readonly RunningItem[]> {
  const { rows } = await sql<RunningRow>`
    select id, item_type, dedup_key, concurrency_key, leased_at, leased_until, attempts
    from work_items
    where actionable
      and phase = 'active'
      and leased_until >= now()
      and item_type = any(${itemTypes})
    order by leased_at, id
    limit ${MAX_RUNNING}`.execute(tx)
  return rows.map((row) => ({
    id: row.id,
    itemType: row.item_type,
    dedupKey: row.dedup_key,
    concurrencyKey: row.concurrency_key,
    leasedAt: row.leased_at,
    leasedUntil: row.leased_until,
    attempts: row.attempts,
  }))
}

/** The first of two probes, each in the order of its index. */
async function readOldestDue(tx: Transaction, itemTypes: readonly string[]): Promise<DueItem | null> {
  const { rows } = await sql<{ id: string; item_type: string; since: Date }>`
    (
      select id, item_type, due_at as since
      from work_items
      where actionable
        and phase = 'active'
        and due_at <= now()
        and (leased_until is null or leased_until < now())
        and item_type = any(${itemTypes})
      order by due_at, id
      limit 1
    )
    union all
    (
      select work_items.id, item_type, pending_until
      from work_item_statuses
      join work_items on work_items.id = work_item_id
      where status = 'true'
        and pending_until <= now()
        and not actionable
        and phase = 'active'
        and item_type = any(${itemTypes})
      order by pending_until
      limit 1
    )
    order by since
    limit 1`.execute(tx)
  const row = rows[0]
  return row === undefined ? null : { id: row.id, itemType: row.item_type, since: row.since }
}

async function readClock(tx: Transaction): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select now() as now`.execute(tx)
  return rows[0]?.now ?? new Date()
}
