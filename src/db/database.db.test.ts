import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type PostgresProxy, startPostgresProxy } from '../../test/support/postgres-proxy.ts'
import { silentLog } from '../lib/log.ts'
import { connectDatabase, type Database, openDatabase } from './database.ts'

let database: TestDatabase
let proxy: PostgresProxy
beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startPostgresProxy(database.url)
})
afterAll(async () => {
  await proxy.close()
  await database.drop()
})

async function connect(): Promise<{ readonly db: Database; readonly lines: readonly string[] }> {
  const lines: string[] = []
  const log = { ...silentLog, info: (_fields: object, message: string) => void lines.push(message) }
  return { db: await connectDatabase({ url: proxy.url, maxConnections: 2, log }), lines }
}

const settingOf = async (db: Database) =>
  (await sql<{ value: string }>`select current_setting('statement_timeout') as value`.execute(db)).rows[0]?.value

test('a connection that breaks in the middle of a transaction fails the transaction, and nothing else', async () => {
  const db = openDatabase({ url: database.url, maxConnections: 1 })
  const broken = db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
    await sql`select pg_terminate_backend(${rows[0]?.pid}, 5000)`.execute(database.db)
    await sql`select 1`.execute(tx)
  })
  await expect(broken).rejects.toThrow()

  expect((await sql`select 1 as one`.execute(db)).rows).toEqual([{ one: 1 }])
  await db.destroy()
})

describe('a program that connects', () => {
  test('bounds its statements in the database, and says nothing', async () => {
    const { db, lines } = await connect()

    expect(await settingOf(db)).toBe('30s')
    expect(lines).toEqual([])
    await db.destroy()
  })

  test('works through a pooler that refuses settings for a session, and says so once', async () => {
    proxy.refusesSettings = true
    const { db, lines } = await connect()

    expect(await settingOf(db)).toBe('0')
    expect(lines).toEqual([expect.stringContaining('a connection pooler is in between')])
    await db.destroy()
  })

  test('fails with the reason when nothing answers', async () => {
    const away = await startPostgresProxy(database.url)
    await away.close()

    await expect(connectDatabase({ url: away.url })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

test('behind a pooler, a statement that takes too long is cancelled, and its connection is not used again', async () => {
  const db = openDatabase({ url: database.url, maxConnections: 1, pooler: true, statementTimeoutMs: 200 })
  const pid = async () => (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]?.pid
  const before = await pid()

  await expect(sql`select pg_sleep(60)`.execute(db)).rejects.toThrow('Query read timeout')
  expect(await pid()).not.toBe(before)
  const asleep = db.transaction().execute((tx) => sql`select pg_sleep(60)`.execute(tx))
  await expect(asleep).rejects.toThrow()
  const { rows } = await sql`
    select from pg_stat_activity
    where query = 'select pg_sleep(60)' and state = 'active' and datname = current_database()`.execute(database.db)
  expect(rows).toEqual([])
  await db.destroy()
})
