/** What an operator sees and mends, over real PostgreSQL: rows as the queue would have left them, and the answers. */
import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { createErrandQueues, errand, event as eventAbout } from '../../test/support/errand-queues.ts'
import { createErrandType, runAndWait } from '../../test/support/errand-type.ts'
import { createRecordedAudit } from '../../test/support/recorded-audit.ts'
import { createEventCounts } from '../lib/event-counts.ts'
import { createQueueAdmin, type ProcessStatus } from './queue-admin.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterEach(() => sql`delete from work_items`.execute(database.db))
afterAll(() => database.drop())

const TYPES = ['errand', 'note']
const HERE: ProcessStatus = {
  ...{ workers: 3, running: 1, held: 2, draining: false, listening: 'off' },
  events: createEventCounts().read(),
}

function createAdmin() {
  const audit = createRecordedAudit()
  const woken: string[] = []
  const admin = createQueueAdmin({
    db: database.db,
    itemTypes: new Map(TYPES.map((name) => [name, null])),
    audit,
    notify: (id) => void woken.push(id),
    processStatus: () => HERE,
  })
  return { admin, audit, woken }
}

interface Row {
  readonly type?: string
  readonly key?: string | null
  readonly phase?: string
  readonly actionable?: boolean
  /** Seconds from now, as all times here. */
  readonly since?: number
  readonly retry?: number | null
  readonly lease?: number | null
  /** Deferred dimensions. */
  readonly deferred?: readonly number[]
}

const inSeconds = (seconds: number | null) => sql`now() + make_interval(secs => ${seconds}::double precision)`

/** An item at rest, unless told otherwise. */
async function item(row: Row = {}): Promise<string> {
  const {
    type = 'errand',
    key = null,
    phase = 'active',
    actionable = false,
    since = 0,
    retry = null,
    lease = null,
  } = row
  const id = uuidv7()
  await sql`
    insert into work_items (
      id, item_type, concurrency_key, phase, resolution, actionable, due_at, retry_at, leased_at, leased_until,
      dedup_key, content_hash, caller_identity)
    values (
      ${id}, ${type}, ${key}, ${phase}, ${phase === 'active' ? null : 'over'}, ${actionable}, ${inSeconds(retry ?? since)},
      ${inSeconds(retry)}, ${inSeconds(lease === null ? null : since)}, ${inSeconds(lease)}, ${`${type}:${id}`}, 'hash', 'ann')`.execute(
    database.db,
  )
  for (const [index, seconds] of (row.deferred ?? []).entries()) {
    await sql`
      insert into work_item_statuses (work_item_id, dimension, status, pending_until)
      values (${id}, ${`needs_look_${index}`}, 'true', ${inSeconds(seconds)})`.execute(database.db)
  }
  return id
}

async function event(itemId: string, { dead = true, at = 0 }: { dead?: boolean; at?: number } = {}): Promise<string> {
  const { rows } = await sql<{ id: bigint }>`
    insert into pending_events (work_item_id, event_type, event_at, body, attempts, error, dead, received_at)
    values (
      ${itemId}, 'ping', now(), '{"secret": "hunter2"}', ${dead ? 5 : 0}, ${dead ? 'it broke' : null}, ${dead},
      ${inSeconds(at)})
    returning id`.execute(database.db)
  return String(rows[0]?.id)
}

/** To the nearest hundred, so that a slow machine changes nothing. */
function secondsFrom(now: Date, time: Date | null): number | null {
  return time && Math.round((time.getTime() - now.getTime()) / 100_000) * 100
}

describe('the state of the queue', () => {
  test('of an empty queue is all zeros, and tells what the process does', async () => {
    const status = await createAdmin().admin.status(TYPES)
    expect(status.total).toMatchObject({ active: 0, due: 0, oldestDueAt: null, countedAll: true })
    expect(status).toMatchObject({ oldestDue: null, running: [], byKey: [], process: HERE })
    expect(status.byType.map(({ itemType }) => itemType)).toEqual(TYPES)
  })

  test.each<[string, Row, object]>([
    ['an item that somebody must look at', { actionable: true, since: -9 }, { due: 1 }],
    ['one that waits for its next try', { actionable: true, retry: 600 }, { backoff: 1 }],
    ['one whose next try has come', { actionable: true, retry: -1 }, { due: 1 }],
    ['one with a lease', { actionable: true, lease: 600 }, { running: 1 }],
    ['one whose worker has died', { actionable: true, lease: -1 }, { due: 1 }],
    ['one that is put off', { deferred: [600, 900] }, { deferred: 1 }],
    ['one that was put off until now', { deferred: [-1, -2, 600] }, { due: 1 }],
    ['one that waits for an event', {}, {}],
    ['one that is over', { phase: 'completed' }, { active: 0 }],
    ['one of a type that is not asked about', { type: 'other', actionable: true }, { active: 0 }],
  ])('counts %s where it belongs, and nowhere else', async (_title, row, expected) => {
    await item(row)
    const { total } = await createAdmin().admin.status(TYPES)
    const { active, due, running, backoff, deferred } = total
    const zeros = { active: 1, due: 0, running: 0, backoff: 0, deferred: 0 }
    expect({ active, due, running, backoff, deferred }).toEqual({ ...zeros, ...expected })
  })

  test('tells the ends of each wait, by type and by key', async () => {
    await item({ type: 'note', actionable: true, since: -3_000 })
    const oldest = await item({ key: 'home', deferred: [-5_000] })
    await item({ key: 'home', actionable: true, since: -4_000 })
    await item({ key: 'shop', actionable: true, retry: 7_000 })
    await item({ key: 'quiet', deferred: [8_000] })
    const status = await createAdmin().admin.status(TYPES)
    expect(status.oldestDue).toMatchObject({ id: oldest, itemType: 'errand' })
    expect(secondsFrom(status.now, status.oldestDue?.since ?? null)).toBe(-5_000)
    expect(
      status.byType.map(({ itemType, due, oldestDueAt, nextRetryAt, nextLookAt }) => {
        const times = [oldestDueAt, nextRetryAt, nextLookAt]
        return [itemType, due, ...times.map((time) => secondsFrom(status.now, time))]
      }),
    ).toEqual([
      ['errand', 2, -5_000, 7_000, 8_000],
      ['note', 1, -3_000, null, null],
    ])
    expect(status.byKey.map(({ concurrencyKey, due, backoff }) => [concurrencyKey, due, backoff])).toEqual([
      ['home', 2, 0],
      ['shop', 0, 1],
    ])
    expect(status.total).toMatchObject({ due: 3, backoff: 1, deferred: 1, active: 5 })
  })

  test('lists what runs, the oldest claim first', async () => {
    const young = await item({ actionable: true, since: -1, lease: 600 })
    const old = await item({ actionable: true, since: -1_000, lease: 600, key: 'home' })
    const { running, now } = await createAdmin().admin.status(TYPES)
    expect(running.map(({ id }) => id)).toEqual([old, young])
    expect(running[0]?.concurrencyKey).toBe('home')
    expect(secondsFrom(now, running[0]?.leasedAt ?? null)).toBe(-1_000)
  })

  test('names the fifty keys with most due', async () => {
    for (let index = 0; index < 52; index += 1) await item({ key: `key-${index}`, actionable: true })
    await item({ key: 'key-51', actionable: true })
    const { byKey, total } = await createAdmin().admin.status(TYPES)
    expect(byKey).toHaveLength(50)
    expect(byKey[0]).toMatchObject({ concurrencyKey: 'key-51', due: 2 })
    expect(total.due).toBe(53)
  })

  test('counts events that wait and dead ones, but not those of items that are over', async () => {
    const active = await item({ key: 'home', actionable: true })
    const over = await item({ phase: 'failed' })
    await event(active, { dead: false, at: -6_000 })
    await event(active, { dead: false })
    await event(active)
    await event(over, { dead: false, at: -9_000 })
    await event(over)
    const { total, byKey, now } = await createAdmin().admin.status(TYPES)
    expect(total).toMatchObject({ pendingEvents: 2, deadEvents: 1 })
    expect(secondsFrom(now, total.oldestEventAt)).toBe(-6_000)
    expect(byKey).toMatchObject([{ concurrencyKey: 'home', pendingEvents: 2, deadEvents: 1 }])
  })

  test('leaves out types that this process does not handle', async () => {
    await item({ type: 'other', actionable: true })
    expect(await createAdmin().admin.status(['other'])).toMatchObject({ byType: [], total: { due: 0, active: 0 } })
  })
})

describe('dead events', () => {
  test('come newest first, page by page, and without their bodies', async () => {
    const { admin } = createAdmin()
    const id = await item()
    const ids = [await event(id), await event(id), await event(id)]
    await event(id, { dead: false })
    await event(await item({ type: 'other' }))
    const first = await admin.deadEvents({ itemTypes: TYPES, limit: 2 })
    expect(first.events.map((dead) => dead.id)).toEqual([ids[2], ids[1]])
    expect(first.events[0]).toMatchObject({ workItemId: id, phase: 'active', attempts: 5, error: 'it broke' })
    expect(JSON.stringify(first)).not.toContain('hunter2')
    const second = await admin.deadEvents({ itemTypes: TYPES, limit: 2, before: first.next ?? '' })
    expect([second.events.map((dead) => dead.id), second.next]).toEqual([[ids[0]], null])
  })

  test('can be asked for by item', async () => {
    const { admin } = createAdmin()
    const [one, other] = [await item(), await item()]
    await event(other)
    const wanted = await event(one)
    const { events } = await admin.deadEvents({ itemTypes: TYPES, workItemId: one, limit: 10 })
    expect(events.map(({ id }) => id)).toEqual([wanted])
  })
})

async function rowsOf(itemId: string) {
  const { rows } = await sql<{ actionable: boolean; wake_count: bigint; age: number; events: unknown }>`
    select actionable, wake_count, round(extract(epoch from now() - due_at), -2)::int as age,
           (select json_agg(json_build_array(dead, attempts, error)) from pending_events where work_item_id = ${itemId}) as events
    from work_items
    where id = ${itemId}`.execute(database.db)
  return rows[0]
}

describe('reviving', () => {
  test('gives the event its tries back, and its item a worker', async () => {
    const { admin, audit, woken } = createAdmin()
    const id = await item({ since: -500 })
    const dead = await event(id)
    expect(await admin.revive(dead, 'ann')).toEqual({ id: dead, workItemId: id, itemType: 'errand', eventType: 'ping' })
    expect(await rowsOf(id)).toEqual({ actionable: true, wake_count: 1n, age: 0, events: [[false, 0, null]] })
    expect(woken).toEqual([id])
    const expected = { outcome: 'revived', caller: 'ann', work_item_id: id, action: 'ping', facts: { event_id: dead } }
    expect(audit.entries).toMatchObject([expected])
  })

  test('leaves an item that is due already at its place in the line', async () => {
    const id = await item({ actionable: true, since: -500 })
    await createAdmin().admin.revive(await event(id), 'ann')
    expect(await rowsOf(id)).toMatchObject({ age: 500, wake_count: 1n })
  })

  test('revives all events of one item, and no others', async () => {
    const { admin, woken, audit } = createAdmin()
    const [one, other] = [await item(), await item()]
    const ids = [await event(one), await event(one)]
    await event(other)
    expect((await admin.reviveAllOf(one, 'ann')).map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    expect(await rowsOf(other)).toMatchObject({ actionable: false, events: [[true, 5, 'it broke']] })
    expect([woken, audit.entries.length]).toEqual([[one], 2])
    await expect(admin.reviveAllOf(one, 'ann')).rejects.toMatchObject({ code: 'dead_event_not_found' })
  })

  test.each([
    ['failed', /is failed.*wq retry/],
    ['cancelled', /is cancelled.*wq retry/],
    ['completed', /is completed.*nothing is left/],
  ])('is refused for a %s item, saying what to do, and changes nothing', async (phase, message) => {
    const { admin, audit, woken } = createAdmin()
    const id = await item({ phase })
    const dead = await event(id)
    const refusal = { code: 'item_not_active', message: expect.stringMatching(message) }
    await expect(admin.revive(dead, 'ann')).rejects.toMatchObject(refusal)
    await expect(admin.reviveAllOf(id, 'ann')).rejects.toMatchObject(refusal)
    expect(await rowsOf(id)).toMatchObject({ actionable: false, wake_count: 0n, events: [[true, 5, 'it broke']] })
    expect([audit.entries, woken]).toEqual([[], []])
  })

  test('knows no event that is alive, of another type, or not there', async () => {
    const { admin } = createAdmin()
    const alive = await event(await item(), { dead: false })
    const foreign = await event(await item({ type: 'other', phase: 'failed' }))
    for (const id of [alive, foreign, '999999999']) {
      await expect(admin.deadEvent(id)).rejects.toMatchObject({ code: 'dead_event_not_found' })
      await expect(admin.revive(id, 'ann')).rejects.toMatchObject({ code: 'dead_event_not_found' })
    }
  })

  test('asked for ten times at once happens once', async () => {
    const { admin, audit } = createAdmin()
    const dead = await event(await item())
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => admin.revive(dead, 'ann')))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(audit.entries).toHaveLength(1)
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'dead_event_not_found' })
    }
  })

  test('does not bring an event back to an item that ends meanwhile', async () => {
    const { admin } = createAdmin()
    const id = await item()
    const dead = await event(id)
    const { db } = database
    const reviving = await db.transaction().execute(async (tx) => {
      await sql`update work_items set phase = 'failed', resolution = 'over' where id = ${id}`.execute(tx)
      // Waits for this transaction; that it does is seen in PostgreSQL before the transaction commits.
      const waiting = admin.revive(dead, 'ann').catch((error: unknown) => error)
      await untilSomebodyWaits()
      return { waiting }
    })
    expect(await reviving.waiting).toMatchObject({ code: 'item_not_active' })
    expect(await rowsOf(id)).toMatchObject({ events: [[true, 5, 'it broke']] })
  })
})

test('an event that died of a defect has its effect once the defect is mended', async () => {
  const errands = await createErrandQueues()
  const broken = () => {
    throw new Error('a defect')
  }
  const { type, behaviour } = createErrandType({ run: runAndWait, handle: broken })
  const { queue, admin, audit } = errands.start(type)
  const { item: submitted } = await queue.submit('errand', errand('buy milk', 'unlucky'), 'ann')
  await queue.ingest(eventAbout('unlucky'))
  await audit.waitFor(({ outcome }) => outcome === 'dead', 'the death of the event')
  const [dead] = (await admin.deadEvents({ itemTypes: ['errand'], limit: 1 })).events
  expect(dead).toMatchObject({ workItemId: submitted.id, attempts: 5, error: 'a defect' })

  behaviour.handle = () => ({ phase: 'completed', resolution: 'told', dimensions: [], trigger: 'mended' })
  await admin.revive(dead?.id ?? '', 'ann')
  await audit.waitForPhase(submitted.id, 'completed')
  expect((await admin.status(['errand'])).total).toMatchObject({ active: 0, deadEvents: 0, pendingEvents: 0 })
  await errands.reset()
  await errands.drop()
})

async function untilSomebodyWaits(): Promise<void> {
  for (;;) {
    const { rows } = await sql`
      select from pg_stat_activity
      where datname = current_database()
        and wait_event_type = 'Lock'`.execute(database.db)
    if (rows.length > 0) return
  }
}
