import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { Phase } from '../work-item.ts'
import { milliseconds } from './interval.ts'

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
 * An action failed: counts it, sets the earliest next try, and gives the lease back; `actionable` stays true. A final
 * failure ends the item. Where a caller has written meanwhile, nothing of this is recorded: what the caller wants now
 * deserves a try of its own, at once and with all its attempts. null when the lease is lost.
 */
export async function recordFailure(
  db: Database,
  record: FailureRecord,
): Promise<{ readonly phase: Phase; readonly overtaken: boolean } | null> {
  const { id, epoch, revision, code, message, transient, final, retryInMs } = record
  const counts = sql`revision = ${revision}`
  const ends = sql`(${final}::boolean and ${counts})`
  const { rows } = await sql<{ phase: Phase; overtaken: boolean }>`
    update work_items
    set phase = case when ${ends} then 'failed' else phase end,
        resolution = case when ${ends} then ${code} else resolution end,
        actionable = not ${ends},
        attempts = case when ${counts} then attempts + ${transient ? 0 : 1} else attempts end,
        transient_failures = case when ${counts} then ${transient ? sql`transient_failures + 1` : sql`0`} else 0 end,
        failing_since = case when ${counts} then ${transient ? sql`coalesce(failing_since, now())` : sql`null::timestamptz`} end,
        last_error = case
          when ${counts} then jsonb_build_object('code', ${code}::text, 'message', ${message}::text, 'at', now())
        end,
        retry_at = case when ${counts} and not ${ends} then now() + ${milliseconds(retryInMs)} end,
        leased_until = null,
        updated_at = now()
    where id = ${id}
      and lease_epoch = ${epoch}
      and phase = 'active'
    returning phase, not (${counts}) as overtaken`.execute(db)
  return rows[0] ?? null
}
