/** A migrated database as the model needs it: with the errands' table, and one pool that all processes of all runs share. */
import type { PostgresPool } from 'kysely'
import type { Database } from '../../src/db/database.ts'
import { createPool } from '../../src/db/pool.ts'
import { silentLog } from '../../src/lib/log.ts'
import { createErrandTable } from '../support/errand-type.ts'

export interface ModelDatabase {
  readonly db: Database
  readonly pool: PostgresPool
}

/** End the pool before the database is dropped. */
export async function createModelDatabase(url: string, db: Database): Promise<ModelDatabase> {
  await createErrandTable(db)
  const limits = { maxConnections: 40, statementTimeoutMs: 30_000 }
  return { db, pool: createPool({ url, pooler: false, log: silentLog, ...limits }) }
}
