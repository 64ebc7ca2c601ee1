import type { Database } from '../../db/database.ts'
import { runPrepared } from '../../db/prepared.ts'
import type { DimensionDraft } from '../draft.ts'
import type { Phase } from '../work-item.ts'
import { dimensionsJson } from './dimensions-json.ts'
import { heldItems, type Locking, type Recorded, type RecordedRow, SAVE_DIMENSIONS, toRecorded } from './outcome-sql.ts'

export interface AppliedEvent {
  readonly id: string
  readonly epoch: bigint
  readonly revision: bigint
  readonly eventId: string
  readonly eventAt: Date
  readonly phase: Exclude<Phase, 'active' | 'failed'> | null
  readonly resolution: string | null
  readonly dimensions: readonly DimensionDraft[]
}

export type RecordedEvent = Recorded & { readonly stale: boolean; readonly lastEventAt: Date }

/**
 * Applies one event to each of these items and deletes it. A stale event (older than the newest one applied; equal is not
 * stale, GitLab's times are whole seconds) changes no phase, its dimensions always apply, and only an active item accepts
 * either (decisions 0033 and 0037). null as in record-successes.
 */
export function createRecordEvents(db: Database) {
  const texts = { skip: text('skip'), wait: text('wait') }
  return async (events: readonly AppliedEvent[], locking: Locking): Promise<readonly (RecordedEvent | null)[]> => {
    const { rows } = await runPrepared<RecordedRow & { stale: boolean; last_event_at: Date }>(db, texts[locking], [
      JSON.stringify(events.map(toJson)),
    ])
    const recorded = new Map(
      rows.map((row) => [row.id, { ...toRecorded(row), stale: row.stale, lastEventAt: row.last_event_at }]),
    )
    return events.map(({ id }) => recorded.get(id) ?? null)
  }
}

function toJson(event: AppliedEvent) {
  return {
    id: event.id,
    epoch: String(event.epoch),
    revision: String(event.revision),
    event_id: event.eventId,
    event_at: event.eventAt,
    phase: event.phase,
    resolution: event.resolution,
    dimensions: dimensionsJson(event.dimensions),
  }
}

const STALE = 'coalesce(input.event_at < item.last_event_at, false)'
const ENDS = `(input.phase is not null and not ${STALE} and item.revision = input.revision)`

function text(locking: Locking): string {
  return `
    with input as materialized (
      select *
      from jsonb_to_recordset($1::jsonb) input
        (id uuid, epoch bigint, revision bigint, event_id bigint, event_at timestamptz, phase text, resolution text,
         dimensions jsonb)
    ),
    ${heldItems(locking)},
    before as materialized (
      -- Its lease is ours, so nobody else writes last_event_at: what this statement sees of it is the newest.
      select item.id, ${STALE} as stale
      from work_items item
      join input on input.id = item.id
    ),
    recorded as (
      update work_items item
      set phase = case when ${ENDS} then input.phase else item.phase end,
          resolution = case when ${ENDS} then coalesce(input.resolution, input.phase) else item.resolution end,
          ended_at = case when ${ENDS} then now() else item.ended_at end,
          actionable = item.actionable and not ${ENDS},
          leased_until = case when ${ENDS} then null else item.leased_until end,
          last_event_at = greatest(item.last_event_at, input.event_at),
          updated_at = now()
      from held
      join input on input.id = held.id
      join before on before.id = held.id
      where item.id = held.id
      returning item.id, item.phase, item.revision, item.wake_count, item.leased_until is null as released,
                item.last_event_at, before.stale, input.revision as decided_on, input.dimensions, input.event_id
    )${SAVE_DIMENSIONS}, consumed as (
      delete from pending_events
      using recorded
      where pending_events.id = recorded.event_id
    )
    select id, phase, revision, wake_count, released, stale, last_event_at, now() as read_at
    from recorded`
}
