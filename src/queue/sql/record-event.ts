import { sql } from 'kysely'
import type { Transaction } from '../../db/database.ts'
import type { Phase } from '../work-item.ts'

export interface EventRecord {
  readonly id: string
  readonly epoch: bigint
  readonly revision: bigint
  readonly eventAt: Date
  readonly phase: Exclude<Phase, 'active' | 'failed'> | null
  readonly resolution: string | null
}

/**
 * Applies an event's phase part. A stale event (older than the newest one applied; equal is not stale, GitLab's times are
 * whole seconds) changes no phase, and only an active item accepts one (decisions 0033 and 0037). null: lease lost.
 */
export async function recordEvent(
  tx: Transaction,
  record: EventRecord,
): Promise<{ readonly phase: Phase; readonly stale: boolean } | null> {
  const { id, epoch, revision, eventAt, phase, resolution } = record
  const stale = sql`coalesce(${eventAt}::timestamptz < last_event_at, false)`
  const ends = sql`(${phase !== null}::boolean and not ${stale} and revision = ${revision})`
  const { rows } = await sql<{ phase: Phase; stale: boolean }>`
    with before as (
      select ${stale} as stale from work_items where id = ${id}
    )
    update work_items
    set phase = case when ${ends} then ${phase ?? 'active'} else phase end,
        resolution = case when ${ends} then ${resolution} else resolution end,
        actionable = case when ${ends} then false else actionable end,
        leased_until = case when ${ends} then null else leased_until end,
        last_event_at = greatest(last_event_at, ${eventAt}::timestamptz),
        updated_at = now()
    from before
    where id = ${id}
      and lease_epoch = ${epoch}
      and phase = 'active'
    returning phase, before.stale`.execute(tx)
  return rows[0] ?? null
}
