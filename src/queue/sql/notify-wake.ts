import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

/** What processes listen to. Whoever hears it looks for himself. */
export const WAKE_CHANNEL = 'workqueue_wake'

/** All that a wake-up may say: the work may lie anywhere in the queue. Else it is new, and lies at the end. */
export const ANYWHERE = 'anywhere'

/** Tells every listening process that there may be work. */
export async function notifyWake(db: Database, anywhere: boolean): Promise<void> {
  await sql`select pg_notify(${WAKE_CHANNEL}, ${anywhere ? ANYWHERE : ''})`.execute(db)
}
