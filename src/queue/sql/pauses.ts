/** The statements over pauses (decision 0085). There are few of them, and the whole list is read every second. */
import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { Database } from '../../db/database.ts'
import type { Pause, PauseScope } from '../pause.ts'

/** Oldest first. */
export async function readPauses(db: Database): Promise<readonly Pause[]> {
  const rows = await db.selectFrom('pauses').selectAll().orderBy('id').execute()
  return rows.map((row) => ({
    id: row.id,
    itemType: row.item_type,
    concurrencyKey: row.concurrency_key,
    callerIdentity: row.caller_identity,
    reason: row.reason,
    createdBy: row.created_by,
    createdAt: row.created_at,
  }))
}

/** False: there was one of this scope, and its reason is the new one. */
export async function storePause(
  db: Database,
  { itemType, concurrencyKey, callerIdentity }: PauseScope,
  { reason, by }: { readonly reason: string; readonly by: string },
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const id = uuidv7()
  const row = await db
    .insertInto('pauses')
    .values({
      id,
      item_type: itemType,
      concurrency_key: concurrencyKey,
      caller_identity: callerIdentity,
      reason,
      created_by: by,
    })
    .onConflict((conflict) => conflict.constraint('one_pause_a_scope').doUpdateSet({ reason, created_by: by }))
    .returning('id')
    .executeTakeFirstOrThrow()
  return { id: row.id, isNew: row.id === id }
}

/**
 * Ends a pause, and makes what it held due at once. Items that wait after a failure keep waiting. Two statements, because the
 * second must see what was held until the first had its lock. False: there is no such pause.
 */
export function endPause(db: Database, pause: Pause): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    const ended = await tx.deleteFrom('pauses').where('id', '=', pause.id).returning('id').executeTakeFirst()
    if (ended === undefined) return false
    await sql`
      update work_items
      set due_at = now()
      where actionable
        and due_at > now()
        and (retry_at is null or retry_at <= now())
        and (${pause.itemType}::text is null or item_type = ${pause.itemType})
        and (${pause.callerIdentity}::text is null or caller_identity = ${pause.callerIdentity})
        and (${pause.concurrencyKey}::text is null or lower(concurrency_key) = lower(${pause.concurrencyKey}))`.execute(
      tx,
    )
    return true
  })
}
