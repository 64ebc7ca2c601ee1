import type { Database } from '../../db/database.ts'
import { runPrepared } from '../../db/prepared.ts'
import type { DetailRow } from '../detail-table.ts'
import type { DimensionDraft } from '../draft.ts'
import type { Phase } from '../work-item.ts'
import { type ItemTypes, updateDetails } from './detail-sql.ts'
import { dimensionsJson } from './dimensions-json.ts'
import { heldItems, type Locking, type Recorded, type RecordedRow, SAVE_DIMENSIONS, toRecorded } from './outcome-sql.ts'

export interface Success {
  readonly id: string
  readonly epoch: bigint
  /** The revision and the wake count that the action was decided on. */
  readonly revision: bigint
  readonly wakeCount: bigint
  readonly phase: Phase
  readonly resolution: string | null
  /** As far as the worker can see nothing is left to do: the item goes to rest in the same write, unless something has come. */
  readonly rests: boolean
  /** null: the action has changed nothing of it. */
  readonly detail: DetailRow | null
  readonly dimensions: readonly DimensionDraft[]
}

/**
 * Actions succeeded: failures are forgotten, the draft is stored, and a new phase is taken. null where the lease is lost or,
 * in a group, the row was locked.
 *
 * An item only ends if no caller has written since the action was decided: otherwise it stays active, and the next decision
 * sees both what the action did and what the caller wants now (decision 0052). It only rests if no event has come either.
 */
export function createRecordSuccesses(db: Database, itemTypes: ItemTypes) {
  const texts = { skip: text(itemTypes, 'skip'), wait: text(itemTypes, 'wait') }
  return async (successes: readonly Success[], locking: Locking): Promise<readonly (Recorded | null)[]> => {
    const { rows } = await runPrepared<RecordedRow>(db, texts[locking], [JSON.stringify(successes.map(toJson))])
    const recorded = new Map(rows.map((row) => [row.id, toRecorded(row)]))
    return successes.map(({ id }) => recorded.get(id) ?? null)
  }
}

function toJson(success: Success): Record<string, unknown> {
  return {
    id: success.id,
    epoch: String(success.epoch),
    revision: String(success.revision),
    wake_count: String(success.wakeCount),
    phase: success.phase,
    resolution: success.resolution,
    rests: success.rests,
    detail: success.detail,
    dimensions: dimensionsJson(success.dimensions),
  }
}

const ENDS = `(input.phase <> 'active' and item.revision = input.revision)`
const RESTS = `(input.rests and item.revision = input.revision and item.wake_count = input.wake_count)`

function text(itemTypes: ItemTypes, locking: Locking): string {
  return `
    with input as materialized (
      select *
      from jsonb_to_recordset($1::jsonb) input
        (id uuid, epoch bigint, revision bigint, wake_count bigint, phase text, resolution text, rests boolean,
         detail jsonb, dimensions jsonb)
    ),
    ${heldItems(locking)},
    recorded as (
      update work_items item
      set phase = case when ${ENDS} then input.phase else item.phase end,
          resolution = case when ${ENDS} then input.resolution else item.resolution end,
          ended_at = case when ${ENDS} then now() else item.ended_at end,
          actionable = item.actionable and not ${ENDS} and not ${RESTS},
          leased_until = case when ${ENDS} or ${RESTS} then null else item.leased_until end,
          attempts = 0,
          unfinished_claims = 0,
          transient_failures = 0,
          failing_since = null,
          last_error = null,
          retry_at = null,
          updated_at = now()
      from held
      join input on input.id = held.id
      where item.id = held.id
      returning item.id, item.item_type, item.phase, item.revision, item.wake_count,
                item.leased_until is null as released,
                input.revision as decided_on, input.dimensions, input.detail
    )${SAVE_DIMENSIONS}${updateDetails(itemTypes, 'recorded', 'observed')}
    select id, phase, revision, wake_count, released, now() as read_at
    from recorded`
}
