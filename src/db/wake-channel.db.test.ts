import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type PostgresProxy, startPostgresProxy } from '../../test/support/postgres-proxy.ts'
import type { Log } from '../lib/log.ts'
import { createWakeChannel, type WakeChannel, type WakeChannelOptions } from './wake-channel.ts'

const CHANNEL = 'workqueue_wake'
const QUICK = { proofTimeoutMs: 500, retryBaseMs: 10, retryMaxMs: 50, lostRetryMs: 100 }

let database: TestDatabase
let proxy: PostgresProxy
const channels: WakeChannel[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startPostgresProxy(database.url)
})
afterAll(async () => {
  await proxy.close()
  await database.drop()
})
afterEach(async () => {
  await Promise.all(channels.splice(0).map((channel) => channel.stop()))
  proxy.swallowsNotifications = false
})

function recordedLog(): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = []
  const record = (level: string) => (_fields: object, message: string) => void lines.push(`${level}: ${message}`)
  return { log: { debug: record('debug'), info: record('info'), warn: record('warn'), error: record('error') }, lines }
}

function open(options: Partial<WakeChannelOptions> = {}) {
  const { log, lines } = recordedLog()
  const onWake = vi.fn<() => void>()
  const onReconnect = vi.fn<() => void>()
  const channel = createWakeChannel({
    url: proxy.url,
    channel: CHANNEL,
    db: database.db,
    log,
    onWake,
    onReconnect,
    ...options,
    timing: { ...QUICK, ...options.timing },
  })
  channels.push(channel)
  channel.start()
  return { channel, lines, onWake, onReconnect }
}

const notify = () => sql`select pg_notify(${CHANNEL}, '')`.execute(database.db)
const reaches = (channel: WakeChannel, state: string) =>
  vi.waitFor(() => expect(channel.state()).toBe(state), { timeout: 10_000, interval: 5 })

const killListeners = () =>
  sql`
    select pg_terminate_backend(pid, 5000)
    from pg_stat_activity
    where application_name = 'workqueue-service wake-ups' and datname = current_database()`.execute(database.db)

test('a hint of another process wakes this one', async () => {
  const { channel, lines, onWake, onReconnect } = open()
  await reaches(channel, 'listening')

  await notify()
  await vi.waitFor(() => expect(onWake).toHaveBeenCalledTimes(1))
  expect(onReconnect).not.toHaveBeenCalled()
  expect(lines).toEqual([])
})

test('hints that come close together are two wake-ups: for the first, and for what came after it', async () => {
  const { channel, onWake } = open({ timing: { coalesceMs: 300 } })
  await reaches(channel, 'listening')

  for (let n = 0; n < 20; n += 1) await notify()
  await vi.waitFor(() => expect(onWake).toHaveBeenCalledTimes(2))
  await channel.stop()
  expect(onWake).toHaveBeenCalledTimes(2)
})

test('proofs wake nobody, neither the own ones nor those of another process', async () => {
  const first = open({ timing: { proofIntervalMs: 5 } })
  const second = open()
  await reaches(first.channel, 'listening')
  await reaches(second.channel, 'listening')
  await notify()

  // Notifications arrive in their order: with the hint here, so were the proofs before it.
  await vi.waitFor(() => {
    expect(first.onWake).toHaveBeenCalledTimes(1)
    expect(second.onWake).toHaveBeenCalledTimes(1)
  })
})

test('a connection that is killed is opened again, the caller sweeps, and hints arrive', async () => {
  const { channel, lines, onWake, onReconnect } = open()
  await reaches(channel, 'listening')

  await killListeners()
  await vi.waitFor(() => expect(onReconnect).toHaveBeenCalledTimes(1))
  expect(channel.state()).toBe('listening')
  await notify()
  await vi.waitFor(() => expect(onWake).toHaveBeenCalledTimes(1))
  expect(lines).toEqual([
    'warn: the connection for wake-ups broke; it is opened again, and the sweep picks up the work until then',
    'info: wake-ups from other processes arrive again',
  ])
})

test('a database that is away is tried for ever, and said once', async () => {
  const away = await startPostgresProxy(database.url)
  await away.close()
  const random = vi.fn(() => 0)
  const { channel, lines } = open({ url: away.url, random })

  await vi.waitFor(() => expect(random.mock.calls.length).toBeGreaterThan(4))
  expect(channel.state()).toBe('connecting')
  expect(lines).toHaveLength(1)
})

test('where LISTEN succeeds and nothing ever comes, the channel is lost and says what to do', async () => {
  proxy.swallowsNotifications = true
  const { channel, lines, onReconnect } = open()
  await reaches(channel, 'lost')
  const { accepted } = proxy
  await vi.waitFor(() => expect(proxy.accepted).toBeGreaterThan(accepted + 1), 10_000)

  expect(channel.state()).toBe('lost')
  expect(lines).toEqual([expect.stringMatching(/^warn: .*set database\.listen_url/)])
  expect(onReconnect).not.toHaveBeenCalled()

  proxy.swallowsNotifications = false
  await reaches(channel, 'listening')
  expect(onReconnect).toHaveBeenCalledTimes(1)
})

test('a connection that stops delivering is noticed by the next proof', async () => {
  const { channel } = open({ timing: { proofIntervalMs: 20 } })
  await reaches(channel, 'listening')

  proxy.swallowsNotifications = true
  await reaches(channel, 'lost')
})

test('a pool that cannot send a proof does not make the channel lost', async () => {
  const broken = createTestDatabase()
  const { db, drop } = await broken
  await drop()
  const { channel, onWake } = open({ db })
  await vi.waitFor(async () => {
    await notify()
    expect(onWake).toHaveBeenCalled()
  })

  expect(channel.state()).toBe('connecting')
})

test('a callback that throws is logged, and the next hint arrives', async () => {
  const onWake = vi.fn(() => {
    throw new Error('no')
  })
  const { channel, lines } = open({ onWake, timing: { coalesceMs: 1 } })
  await reaches(channel, 'listening')
  await notify()
  await vi.waitFor(() => expect(onWake).toHaveBeenCalledTimes(1))
  await notify()
  await vi.waitFor(() => expect(onWake).toHaveBeenCalledTimes(2))

  expect(lines[0]).toBe('error: a wake-up could not be handled; the sweep picks up the work')
})

test('stopping ends the connection, also before it is there and when the other side is silent', async () => {
  const { channel, onWake } = open()
  await reaches(channel, 'listening')
  await channel.stop()
  await notify()
  const { rows } = await sql`
    select from pg_stat_activity
    where application_name = 'workqueue-service wake-ups' and datname = current_database()`.execute(database.db)
  expect(rows).toEqual([])
  expect(onWake).not.toHaveBeenCalled()

  const silent = await startPostgresProxy(database.url)
  const established = open({ url: silent.url }).channel
  await reaches(established, 'listening')
  silent.freeze()
  const connecting = open({ url: silent.url }).channel
  await vi.waitFor(() => expect(silent.accepted).toBe(2))
  await Promise.all([established.stop(), connecting.stop()])
  await silent.close()
})
