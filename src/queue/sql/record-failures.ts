import type { Database } from '../../db/database.ts'
import { runPrepared } from '../../db/prepared.ts'
import { heldItems, type Locking, type Recorded, type RecordedRow, toRecorded } from './outcome-sql.ts'

export interface FailureRecord {
  readonly id: string
  readonly epoch: bigint
  readonly revision: bigint
  readonly code: string
  readonly message: string
  /** A transient failure spends no attempt (decision 0054). */
  readonly transient: boolean
  /** The item is given up now. */
  readonly final: boolean
  /** Wait before the next try. */
  readonly retryInMs: number
}

/**
 * Actions failed: each is counted, the earliest next try is set, and the lease is given back; `actionable` stays true. A
 * final failure ends the item. Where a caller has written meanwhile, nothing of this is recorded: what the caller wants now
 * deserves a try of its own, at once and with all its attempts. null as in record-successes.
 */
export function createRecordFailures(db: Database) {
  const texts = { skip: text('skip'), wait: text('wait') }
  return async (failures: readonly FailureRecord[], locking: Locking): Promise<readonly (Recorded | null)[]> => {
    const { rows } = await runPrepared<RecordedRow>(db, texts[locking], [JSON.stringify(failures.map(toJson))])
    const recorded = new Map(rows.map((row) => [row.id, toRecorded(row)]))
    return failures.map(({ id }) => recorded.get(id) ?? null)
  }
}

function toJson({ id, epoch, revision, code, message, transient, final, retryInMs }: FailureRecord) {
  return {
    ...{ id, epoch: String(epoch), revision: String(revision), code, message },
    ...{ transient, final, retry_in_ms: retryInMs },
  }
}

const COUNTS = '(item.revision = input.revision)'
const ENDS = `(input.final and ${COUNTS})`

function text(locking: Locking): string {
  return `
    with input as materialized (
      select *
      from jsonb_to_recordset($1::jsonb) input
        (id uuid, epoch bigint, revision bigint, code text, message text, transient boolean, final boolean,
         retry_in_ms double precision)
    ),
    ${heldItems(locking)},
    recorded as (
      update work_items item
      set phase = case when ${ENDS} then 'failed' else item.phase end,
          resolution = case when ${ENDS} then input.code else item.resolution end,
          ended_at = case when ${ENDS} then now() else item.ended_at end,
          actionable = not ${ENDS},
          attempts = case when ${COUNTS} and not input.transient then item.attempts + 1 else item.attempts end,
          transient_failures = case when ${COUNTS} and input.transient then item.transient_failures + 1 else 0 end,
          failing_since = case when ${COUNTS} and input.transient then coalesce(item.failing_since, now()) end,
          last_error = case
            when ${COUNTS} then jsonb_build_object('code', input.code, 'message', input.message, 'at', now())
          end,
          retry_at = case when ${COUNTS} and not ${ENDS} then now() + input.retry_in_ms * interval '1 ms' end,
          due_at = case when ${COUNTS} then now() + input.retry_in_ms * interval '1 ms' else now() end,
          unfinished_claims = 0,
          leased_until = null,
          updated_at = now()
      from held
      join input on input.id = held.id
      where item.id = held.id
      returning item.id, item.phase, item.revision, item.wake_count, true as released
    ), closed as (
      -- A failed item keeps what it still needed, for a retry; deferred it would stay in the sweep's index.
      update work_item_statuses status
      set pending_until = null
      from recorded
      where status.work_item_id = recorded.id
        and recorded.phase <> 'active'
        and status.pending_until is not null
    )
    select id, phase, revision, wake_count, released, now() as read_at
    from recorded`
}
