import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { silentLog } from '../lib/log.ts'
import { type Database, openDatabase } from './database.ts'
import { runPrepared } from './prepared.ts'

const ADD = 'select $1::int + $2::int as sum'

let database: TestDatabase
let db: Database
let lines: string[]

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

// One connection, so that the session in which a statement was prepared is the one that is asked again.
const open = (pooler = false) => {
  const log = { ...silentLog, info: (_fields: object, message: string) => void lines.push(message) }
  return openDatabase({ url: database.url, maxConnections: 1, pooler, log })
}
beforeEach(() => {
  lines = []
  db = open()
})
afterEach(() => db.destroy())

async function preparedTexts(on: Database = db): Promise<string[]> {
  const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(on)
  return rows.map((row) => row.statement)
}

describe('a prepared statement', () => {
  test('is parsed once a connection and answers like any other, in and out of a transaction', async () => {
    expect(await runPrepared(db, ADD, [1, 2])).toMatchObject({ rows: [{ sum: 3 }] })
    await db.transaction().execute(async (tx) => {
      expect(await runPrepared(tx, ADD, [20, 22])).toMatchObject({ rows: [{ sum: 42 }] })
    })

    expect(await preparedTexts()).toEqual([`/* prepared */ ${ADD}`])
  })

  test('tells how many rows it has changed', async () => {
    await sql`create table changed as select 1 as n from generate_series(1, 3)`.execute(db)

    expect(await runPrepared(db, 'update changed set n = $1', [2])).toMatchObject({ numAffectedRows: 3n })
  })

  test('that fails for its own reasons fails as it is, and stays prepared', async () => {
    await expect(runPrepared(db, 'select 1 / $1::int', [0])).rejects.toMatchObject({ code: '22012' })
    await runPrepared(db, 'select 1 / $1::int', [1])

    expect(lines).toEqual([])
    expect(await preparedTexts()).toHaveLength(1)
  })

  test('that a pooler has lost runs again unnamed, and from then on nothing is prepared', async () => {
    await runPrepared(db, ADD, [1, 2])
    await sql`deallocate all`.execute(db)

    expect(await runPrepared(db, ADD, [3, 4])).toMatchObject({ rows: [{ sum: 7 }] })
    expect(await runPrepared(db, ADD, [5, 6])).toMatchObject({ rows: [{ sum: 11 }] })
    expect(await preparedTexts()).toEqual([])
    expect(lines).toEqual(['a connection pooler is in between: statements are no longer prepared'])
  })

  test('that a pooler already has from somebody else runs again unnamed', async () => {
    await runPrepared(db, ADD, [1, 2])
    const { rows } = await sql<{ name: string }>`select name from pg_prepared_statements`.execute(db)
    await db.destroy()
    db = open()
    await sql`${sql.raw(`prepare ${rows[0]?.name} as select 1`)}`.execute(db)

    expect(await runPrepared(db, ADD, [3, 4])).toMatchObject({ rows: [{ sum: 7 }] })
  })

  test('that is lost in a transaction fails it, which works when it is tried again', async () => {
    await runPrepared(db, ADD, [1, 2])
    await sql`deallocate all`.execute(db)
    const add = () => db.transaction().execute((tx) => runPrepared(tx, ADD, [3, 4]))

    await expect(add()).rejects.toMatchObject({ code: '26000' })
    expect(await add()).toMatchObject({ rows: [{ sum: 7 }] })
  })

  test('outlives a migration that changes its table', async () => {
    await sql`create table growing (a integer); insert into growing values (1)`.execute(db)
    await runPrepared(db, 'select * from growing where a = $1', [1])
    await sql`alter table growing add b integer not null default 2`.execute(db)

    expect(await runPrepared(db, 'select * from growing where a = $1', [1])).toMatchObject({ rows: [{ a: 1, b: 2 }] })
    await runPrepared(db, 'select * from growing where a = $1', [1])
    expect(await preparedTexts()).toHaveLength(2)
    expect(lines).toEqual([])
  })

  test('is an ordinary one where a pooler is known to be in between', async () => {
    const pooled = open(true)
    expect(await runPrepared(pooled, ADD, [1, 2])).toMatchObject({ rows: [{ sum: 3 }] })

    expect(await preparedTexts(pooled)).toEqual([])
    await pooled.destroy()
  })
})
