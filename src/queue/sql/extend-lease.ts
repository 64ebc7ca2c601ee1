import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import { milliseconds } from './interval.ts'

/** The heartbeat; false when the lease now belongs to a later epoch or was given back. */
export async function extendLease(db: Database, id: string, epoch: bigint, leaseMs: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update work_items
    set leased_until = now() + ${milliseconds(leaseMs)}
    where id = ${id}
      and lease_epoch = ${epoch}
      and leased_until is not null`.execute(db)
  return numAffectedRows === 1n
}
