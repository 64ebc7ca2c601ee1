import { sql } from 'kysely'
import type { Transaction } from '../../db/database.ts'
import type { Phase, WorkItem } from '../work-item.ts'
import { toWorkItem, type WorkItemRow } from './work-item-row.ts'

/**
 * A caller's write to an item that exists: it is active again, free of old failures, actionable, and its revision tells
 * whoever works on it right now that the ground has moved. New content makes it the item of whoever sent it. null when the
 * item is in none of the `from` phases.
 */
export async function wakeByCaller(
  tx: Transaction,
  id: string,
  from: readonly Phase[],
  content: { readonly hash: string; readonly caller: string } | null = null,
): Promise<WorkItem | null> {
  const { rows } = await sql<WorkItemRow>`
    update work_items
    set phase = 'active',
        resolution = null,
        ended_at = null,
        content_hash = coalesce(${content?.hash ?? null}::text, content_hash),
        caller_identity = coalesce(${content?.caller ?? null}::text, caller_identity),
        revision = revision + 1,
        actionable = true,
        due_at = case when actionable and due_at <= now() then due_at else now() end,
        attempts = 0,
        unfinished_claims = 0,
        transient_failures = 0,
        failing_since = null,
        last_error = null,
        retry_at = null,
        updated_at = now()
    where id = ${id}
      and phase = any(${from})
    returning *`.execute(tx)
  return rows[0] === undefined ? null : toWorkItem(rows[0])
}
