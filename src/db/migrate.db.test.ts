import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../../test/support/database.ts'
import { createGate } from '../../test/support/gate.ts'
import type { Database } from './database.ts'
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

  test('gives way to a session that uses a table, and comes again when it is done', async () => {
    await takeBackLastMigrations(database.db)
    const reader = createGate()
    const reading = database.db.transaction().execute(async (tx) => {
      await sql`select from work_items`.execute(tx)
      await reader.pass()
    })
    await reader.arrived
    await expect(migrate(database.db, { patienceMs: 0 })).rejects.toMatchObject({ code: 'migration_blocked' })

    // It waits no more, so nobody waits behind it.
    await sql`select from work_items`.execute(database.db)
    const applied = await migrate(database.db, { onWait: reader.open })
    await reading
    expect(applied).toEqual([
      '0005-queue-core',
      '0006-queue-core-indexes',
      '0007-mr-merge-gate',
      '0008-lists',
      '0009-mr-herder',
      '0010-pauses-and-quotas',
      '0011-mr-builds',
    ])
  })

  test('that a newer program has migrated stops the start and the migration', async () => {
    await sql`
      insert into workqueue_service_migrations (name, timestamp)
      values ('9999-from-the-future', '2099-01-01')`.execute(database.db)

    await expect(checkSchema(database.db)).rejects.toMatchObject({ code: 'schema_too_new' })
    await expect(migrate(database.db)).rejects.toMatchObject({ code: 'schema_too_new' })
  })
})

async function takeBackLastMigrations(db: Database): Promise<void> {
  await sql`
    alter table work_items
      drop column due_at, drop column concurrency_key, drop column leased_at, drop column unfinished_claims,
      drop column wake_count, drop column ended_at, drop constraint ended_is_not_actionable`.execute(db)
  await sql`create index work_items_actionable on work_items (id)`.execute(db)
  await sql`drop index pending_events_dead`.execute(db)
  await sql`
    alter table mr_details
      drop column expires_after_ms, drop column force_overwrite, drop column expires_at, drop column needs_review,
      drop column reviewed_sha, drop column overwritten_sha, drop column note_id, drop column waits_for,
      drop column ci_finding, drop column builds`.execute(db)
  await sql`drop table pauses`.execute(db)
  await sql`create index work_items_item_type on work_items (item_type, id desc)`.execute(db)
  await sql`create index work_items_phase on work_items (phase, id desc)`.execute(db)
  await sql`drop index work_items_of_type, work_items_of_caller`.execute(db)
  await sql`drop table mr_ci_failures`.execute(db)
  await sql`drop index mr_details_merge_commit`.execute(db)
  await sql`delete from workqueue_service_migrations where name >= '0005'`.execute(db)
}
