import { sql } from 'kysely'
import type { Transaction } from '../../db/database.ts'
import type { Phase } from '../work-item.ts'

export interface SuccessRecord {
  readonly id: string
  readonly epoch: bigint
  /** The revision the action was decided on. */
  readonly revision: bigint
  readonly phase: Phase
  readonly resolution: string | null
}

export type RecordedPhase = { readonly phase: Phase } | null

/**
 * An action succeeded: failures are forgotten and a new phase is taken. null when the lease is lost; the caller rolls back.
 *
 * An item only ends if no caller has written since the action was decided: otherwise it stays active, and the next
 * decision sees both what the action did and what the caller wants now (decision 0052).
 */
export async function recordSuccess(tx: Transaction, record: SuccessRecord): Promise<RecordedPhase> {
  const { id, epoch, revision, phase, resolution } = record
  const ends = sql`(${phase} <> 'active' and revision = ${revision})`
  const { rows } = await sql<{ phase: Phase }>`
    update work_items
    set phase = case when ${ends} then ${phase} else phase end,
        resolution = case when ${ends} then ${resolution} else resolution end,
        actionable = case when ${ends} then false else actionable end,
        leased_until = case when ${ends} then null else leased_until end,
        attempts = 0,
        transient_failures = 0,
        failing_since = null,
        last_error = null,
        retry_at = null,
        updated_at = now()
    where id = ${id}
      and lease_epoch = ${epoch}
      and phase = 'active'
    returning phase`.execute(tx)
  return rows[0] ?? null
}
