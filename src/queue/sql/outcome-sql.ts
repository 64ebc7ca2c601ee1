/**
 * What the statements that record an outcome have in common. Each takes many outcomes as one jsonb array, and is one round
 * trip and one commit whatever their number (decision 0062).
 *
 * A group never waits for a row: what another transaction has locked is left out and comes back as not recorded, and the
 * caller sends it once more alone, where it waits. So groups cannot deadlock with anybody, and one stuck session holds up
 * one item.
 */

/** Alone, an outcome waits for its row; in a group it does not. */
export type Locking = 'wait' | 'skip'

/**
 * CTE `held`: the rows of `input` that are still ours. The epoch is the fence: a worker whose lease was taken over finds
 * nothing here and changes nothing (decision 0051).
 */
export function heldItems(locking: Locking): string {
  return `held as materialized (
      select item.id
      from work_items item
      join input on input.id = item.id
      where item.lease_epoch = input.epoch
        -- Not given back either: an outcome that is sent twice, because the first answer was lost, counts once.
        and item.leased_until is not null
        -- Active: the phase itself is indexed, and few items that are active may look like few to read.
        and item.resolution is null
      for no key update of item ${locking === 'skip' ? 'skip locked' : ''}
    )`
}

/**
 * CTEs after `recorded (id, phase, decided_on, dimensions)`: the dimensions as the draft or event has them. A row that a
 * caller has set since the decision is left alone: the action did not know of that wish, so it cannot have settled it
 * (decision 0052). Of an item that has ended nothing stays deferred, so that it leaves the sweep's index; a completed one
 * needs nothing either, a failed or cancelled one keeps what it still needed, for a retry.
 */
export const SAVE_DIMENSIONS = `, changed as (
      insert into work_item_statuses
        (work_item_id, dimension, variant, status, pending_until, note, revision, updated_at)
      select recorded.id, change.dimension, change.variant,
             change.status,
             case
               when recorded.phase = 'active' and change.status = 'true' and change.defer_ms is not null
               then now() + change.defer_ms * interval '1 ms'
             end,
             change.note, recorded.decided_on, now()
      from recorded,
           jsonb_to_recordset(recorded.dimensions) change
             (dimension text, variant text, status text, defer_ms double precision, note text)
      -- Of a completed item nothing is asked any more; what stands there is settled below.
      where recorded.phase <> 'completed'
      on conflict (work_item_id, dimension, variant) do update
      set status = excluded.status,
          pending_until = excluded.pending_until,
          note = excluded.note,
          updated_at = excluded.updated_at
      where work_item_statuses.revision <= excluded.revision
    ), closed as (
      update work_item_statuses status
      set pending_until = null,
          status = case when recorded.phase = 'completed' then 'false' else status.status end
      from recorded
      where status.work_item_id = recorded.id
        and recorded.phase <> 'active'
        and status.status = 'true'
        -- Those are written above already; one statement may change a row once.
        and (recorded.phase = 'completed' or not exists (
          select
          from jsonb_to_recordset(recorded.dimensions) change (dimension text, variant text)
          where change.dimension = status.dimension
            and change.variant = status.variant))
    )`

/** What every outcome brings back. */
export interface RecordedRow {
  readonly id: string
  readonly phase: string
  readonly revision: bigint
  readonly wake_count: bigint
  readonly released: boolean
  readonly read_at: Date
}

export interface Recorded {
  readonly phase: 'active' | 'completed' | 'failed' | 'cancelled'
  readonly revision: bigint
  readonly wakeCount: bigint
  /** The lease was given back by the same write. */
  readonly released: boolean
  /** The database's clock. */
  readonly now: Date
}

export function toRecorded(row: RecordedRow): Recorded {
  return {
    phase: row.phase as Recorded['phase'],
    revision: row.revision,
    wakeCount: row.wake_count,
    released: row.released,
    now: row.read_at,
  }
}
