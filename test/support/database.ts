/**
 * A database of its own for each test file, cloned in milliseconds from a template that was migrated once. PostgreSQL is
 * always real: DATABASE_URL where it is set, else the embedded server that the global setup started.
 */
import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { runOnServer, withDatabase } from './server.ts'

export interface TestDatabase {
  readonly url: string
  readonly db: Database
  drop(): Promise<void>
}

/** Clones the template. Call in `beforeAll`, and `drop()` in `afterAll`. */
export function createTestDatabase(): Promise<TestDatabase> {
  return create(inject('postgres').template)
}

/** An empty database without the schema, for tests of the migrations themselves. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return create('template0')
}

async function create(template: string): Promise<TestDatabase> {
  const { url: serverUrl } = inject('postgres')
  const name = `test_${randomBytes(8).toString('hex')}`
  await runOnServer(serverUrl, `create database ${name} template ${template}`)
  const url = withDatabase(serverUrl, name)
  const db = openDatabase({ url })
  return {
    url,
    db,
    async drop() {
      await db.destroy()
      await runOnServer(serverUrl, `drop database ${name} with (force)`)
    },
  }
}
