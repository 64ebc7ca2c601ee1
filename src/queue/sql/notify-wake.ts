import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

/** What processes listen to. The channel is empty talk: whoever hears it looks for himself. */
export const WAKE_CHANNEL = 'workqueue_wake'

/** Tells every listening process that there may be work. */
export async function notifyWake(db: Database): Promise<void> {
  await sql`select pg_notify(${WAKE_CHANNEL}, '')`.execute(db)
}
