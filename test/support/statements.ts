/** The queue's own statements, for tests that play a worker, or look at what one would find. */
import { sql } from 'kysely'
import type { Database } from '../../src/db/database.ts'
import type { AnyItemType, PendingEvent } from '../../src/queue/item-type.ts'
import type { ClaimOptions } from '../../src/queue/sql/choose-sql.ts'
import { createSweepWorkItems } from '../../src/queue/sql/claim-due-work-items.ts'
import type { Claimed } from '../../src/queue/sql/claim-sql.ts'
import { createClaimWorkItems } from '../../src/queue/sql/claim-work-items.ts'
import { createReadObservations } from '../../src/queue/sql/read-observations.ts'

export const CLAIM: ClaimOptions = { leaseMs: 60_000, limit: 10, freeByKey: new Map(), freePerKey: 100 }

export function registry(...types: readonly AnyItemType[]): ReadonlyMap<string, AnyItemType> {
  return new Map(types.map((type) => [type.name, type]))
}

/** As another process would claim it; null when it is not free. */
export async function claimItem(
  db: Database,
  type: AnyItemType,
  id: string,
  options: Partial<ClaimOptions> = {},
): Promise<Claimed | null> {
  const [claimed] = await createClaimWorkItems(db, registry(type))([id], { ...CLAIM, ...options })
  return claimed ?? null
}

class RolledBack extends Error {}

/** What a sweep would claim now; nothing is claimed. */
export async function dueItems(db: Database, ...types: readonly AnyItemType[]): Promise<readonly string[]> {
  const ids: string[] = []
  try {
    await db.transaction().execute(async (tx) => {
      for (const { snapshot } of await createSweepWorkItems(tx, registry(...types))(CLAIM)) ids.push(snapshot.item.id)
      throw new RolledBack()
    })
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error
  }
  return ids
}

export async function waitingEvents(db: Database, type: AnyItemType, id: string): Promise<readonly PendingEvent[]> {
  return (await createReadObservations(db, registry(type))([id])).get(id)?.events ?? []
}

/** As if its process had died a lease ago. */
export async function expireLease(db: Database, id: string): Promise<void> {
  await sql`update work_items set leased_until = now() - interval '1 second' where id = ${id}`.execute(db)
}
