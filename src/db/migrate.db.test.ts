import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../../test/support/database.ts'
import { checkSchema, migrate } from './migrate.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createEmptyDatabase()
})
afterAll(() => database.drop())

describe('the schema', () => {
  test('that is too old stops the start and says what to run', async () => {
    await expect(checkSchema(database.db)).rejects.toMatchObject({
      code: 'schema_too_old',
      message: expect.stringContaining('wq migrate'),
    })
  })

  test('is brought up by any number of processes at once, each migration once', async () => {
    const runs = await Promise.all([migrate(database.db), migrate(database.db), migrate(database.db)])

    expect(runs.flat()).toEqual([...new Set(runs.flat())])
    expect(runs.flat()).toContain('0001-work-items')
    await checkSchema(database.db)
    expect(await migrate(database.db)).toEqual([])
  })

  test('that a newer program has migrated stops the start and the migration', async () => {
    await sql`
      insert into workqueue_service_migrations (name, timestamp)
      values ('9999-from-the-future', '2099-01-01')`.execute(database.db)

    await expect(checkSchema(database.db)).rejects.toMatchObject({ code: 'schema_too_new' })
    await expect(migrate(database.db)).rejects.toMatchObject({ code: 'schema_too_new' })
  })
})
