import { sql } from 'kysely'
import type { Transaction } from '../../db/database.ts'

const LOW_63_BITS = 0x7fff_ffff_ffff_ffffn

/**
 * The advisory lock by which an event's insert and the exit of the item's worker take turns (decision 0034); held until
 * the transaction ends. The key is the low 63 bits of the id: a collision only makes two items wait for each other.
 */
export async function lockWorkItem(tx: Transaction, id: string): Promise<void> {
  const key = BigInt(`0x${id.replaceAll('-', '')}`) & LOW_63_BITS
  await sql`select pg_advisory_xact_lock(${key}::bigint)`.execute(tx)
}
