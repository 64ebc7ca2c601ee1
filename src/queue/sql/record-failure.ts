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
 * failure ends the item, unless a caller has written meanwhile: what the caller wants now deserves a try of its own.
 * null when the lease is lost.
 */
export async function recordFailure(db: Database, record: FailureRecord): Promise<{ readonly phase: Phase } | null> {
  const { id, epoch, revision, code, message, transient, final, retryInMs } = record
  const ends = sql`(${final}::boolean and revision = ${revision})`
  const { rows } = await sql<{ phase: Phase }>`
    update work_items
    set phase = case when ${ends} then 'failed' else phase end,
        resolution = case when ${ends} then ${code} else resolution end,
        actionable = not ${ends},
        attempts = attempts + ${transient ? 0 : 1},
        transient_failures = ${transient ? sql`transient_failures + 1` : sql`0`},
        failing_since = ${transient ? sql`coalesce(failing_since, now())` : sql`null`},
        last_error = jsonb_build_object('code', ${code}::text, 'message', ${message}::text, 'at', now()),
        retry_at = case when ${ends} then null else now() + ${milliseconds(retryInMs)} end,
        leased_until = null,
        updated_at = now()
    where id = ${id}
      and lease_epoch = ${epoch}
      and phase = 'active'
    returning phase`.execute(db)
  return rows[0] ?? null
}
