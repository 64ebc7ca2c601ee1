/** Who is claimed when, and that nobody is held up by anybody else, over real PostgreSQL. */
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createErrandQueues, type ErrandQueues, errand, event } from '../../test/support/errand-queues.ts'
import { createErrandType, finishErrand, runAndWait } from '../../test/support/errand-type.ts'
import { createGate } from '../../test/support/gate.ts'
import { loseAnswers } from '../../test/support/lost-answers.ts'
import { createTestQueue } from '../../test/support/queue.ts'
import { claimItem, dueItems, expireLease, registry } from '../../test/support/statements.ts'
import { sweepText } from './sql/claim-due-work-items.ts'
import { createReleaseLeases } from './sql/release-leases.ts'

let errands: ErrandQueues
beforeAll(async () => {
  errands = await createErrandQueues()
})
afterEach(() => errands.reset())
afterAll(() => errands.drop())

test('an action sees its item under the epoch of its own lease, however the item was claimed', async () => {
  const seen: [string, bigint][] = []
  const { type } = createErrandType({
    run: async (draft, context) => {
      seen.push([draft.detail.name, draft.item.leaseEpoch])
      return finishErrand(draft, context)
    },
  })
  await errands.prepare(type).queue.submit('errand', errand('x', 'claimed'), 'ann')
  const { queue, audit } = errands.start(type)
  const born = await queue.submit('errand', errand('x', 'born claimed'), 'ann')
  await audit.waitForPhase(born.item.id, 'completed')
  await audit.waitFor(() => seen.length === 2, 'both')
  expect(seen.toSorted()).toEqual([
    ['born claimed', 1n],
    ['claimed', 1n],
  ])
})

describe('the order', () => {
  test('is that in which items came due, and one that has had its time goes behind the others', async () => {
    const names: string[] = []
    const { type } = createErrandType({
      run: async (draft) => {
        names.push(draft.detail.name)
        // Longer than an item may hold a worker.
        await sql`select pg_sleep(0.25)`.execute(errands.db)
        if (draft.detail.name !== 'first') draft.settle('needs_run')
        if (names.filter((name) => name === 'first').length === 2) draft.settle('needs_run')
        return { outcome: 'succeeded' }
      },
    })
    const prepared = errands.prepare(type)
    for (const name of ['first', 'second', 'third']) await prepared.queue.submit('errand', errand('x', name), 'ann')
    const { audit } = errands.start(type, { workers: 1, item_deadline: 200 })
    await audit.waitFor(() => names.filter((name) => name === 'first').length === 2, 'the second turn of the first')

    expect(names).toEqual(['first', 'second', 'third', 'first'])
  })

  test('does not let a crowd of one key keep the others waiting, nor more of it run than its limit', async () => {
    const crowd = createGate()
    let running = 0
    let most = 0
    const { type } = createErrandType({
      run: async (draft, context) => {
        if (!draft.detail.name.startsWith('shop/')) return finishErrand(draft, context)
        running += 1
        most = Math.max(most, running)
        await crowd.pass()
        running -= 1
        return finishErrand(draft, context)
      },
    })
    const prepared = errands.prepare(type)
    const shop = []
    for (let count = 0; count < 20; count += 1) {
      shop.push((await prepared.queue.submit('errand', errand('x', `shop/${count}`), 'ann')).item)
    }
    const other = await prepared.queue.submit('errand', errand('x', 'park/bench'), 'ann')
    const { audit } = errands.start(type, { workers: 10, concurrency_per_key: 3 })
    await audit.waitForPhase(other.item.id, 'completed')
    expect(running).toBe(3)

    crowd.open()
    await Promise.all(shop.map(({ id }) => audit.waitForPhase(id, 'completed')))
    expect(most).toBe(3)
  })
})

describe('a submission', () => {
  test('is born claimed where a worker is free, and waits for one where none is', async () => {
    const gate = createGate()
    const { type } = createErrandType({
      run: async (draft, context) => {
        await gate.pass()
        return finishErrand(draft, context)
      },
    })
    const { queue, audit } = errands.start(type, { workers: 1 })
    const first = await queue.submit('errand', errand(), 'ann')
    const second = await queue.submit('errand', errand(), 'ann')

    expect(first.item).toMatchObject({ leaseEpoch: 1n, leasedUntil: expect.any(Date) })
    expect(second.item).toMatchObject({ leaseEpoch: 0n, leasedUntil: null })
    gate.open()
    await audit.waitForPhase(second.item.id, 'completed')
  })

  test('shares its commit with those that come at the same time', async () => {
    const { queue } = errands.prepare(createErrandType().type)
    await queue.submit('errand', errand(), 'ann')
    const before = await writingCommits()
    const results = await Promise.all(Array.from({ length: 50 }, () => queue.submit('errand', errand(), 'ann')))

    expect(new Set(results.map(({ item }) => item.id)).size).toBe(50)
    expect((await writingCommits()) - before).toBeLessThan(10)
  })

  test('that another process makes is heard of without a sweep', async () => {
    const held = createGate()
    const { type } = createErrandType({
      run: async (draft, context) => {
        await held.pass()
        return finishErrand(draft, context)
      },
    })
    const busy = createTestQueue(errands.db, [type], { workers: 1, sweep_interval: 3_600_000 }, errands.url)
    const idle = createTestQueue(errands.db, [createErrandType().type], { sweep_interval: 3_600_000 }, errands.url)
    await Promise.all([busy.start(), idle.start()])
    await busy.queue.submit('errand', errand(), 'ann')
    await held.arrived
    for (;;) if ((await idle.admin.status(['errand'])).process.listening === 'on') break
    const { item } = await busy.queue.submit('errand', errand(), 'ann')
    await idle.audit.waitForPhase(item.id, 'completed')

    held.open()
    await Promise.all([busy.stop(), idle.stop()])
  })
})

describe('a stuck session', () => {
  test('that holds the row of one item holds up nobody else, not even a heartbeat', async () => {
    const gate = createGate()
    const { type } = createErrandType({
      run: async (draft, context) => {
        await gate.pass()
        return finishErrand(draft, context)
      },
    })
    const { queue, audit } = errands.start(type, { lease: 600 })
    const items = await Promise.all(Array.from({ length: 5 }, () => queue.submit('errand', errand(), 'ann')))
    await gate.arrived
    const [stuck, ...others] = items.map(({ item }) => item.id)
    const session = createGate()
    const holding = errands.db.transaction().execute(async (tx) => {
      await sql`select from work_items where id = ${stuck} for update`.execute(tx)
      await session.pass()
    })
    await session.arrived
    // Several leases go by: only heartbeats keep the others.
    const until = Date.now() + 1_500
    while (Date.now() < until) await sql`select pg_sleep(0.05)`.execute(errands.db)
    gate.open()
    await Promise.all(others.map((id) => audit.waitForPhase(id, 'completed')))
    for (const id of others) expect((await queue.getItem(id)).leaseEpoch).toBe(1n)

    session.open()
    await holding
  })
})

describe('giving a lease back', () => {
  test("is settled at once where the lease is another's by now, and not where the row is locked", async () => {
    const { type } = createErrandType()
    const { item } = await errands.prepare(type).queue.submit('errand', errand(), 'ann')
    const first = await claimItem(errands.db, type, item.id)
    await expireLease(errands.db, item.id)
    const second = await claimItem(errands.db, type, item.id)
    const release = createReleaseLeases(errands.db)
    const give = (epoch = 0n) => release([{ id: item.id, epoch, toTheBack: false }], 'skip')
    expect([...(await give(first?.epoch))]).toEqual([item.id])

    const session = createGate()
    const holding = errands.db.transaction().execute(async (tx) => {
      await sql`select from work_items where id = ${item.id} for update`.execute(tx)
      await session.pass()
    })
    await session.arrived
    expect([...(await give(second?.epoch))]).toEqual([])
    session.open()
    await holding
    expect([...(await give(second?.epoch))]).toEqual([item.id])
  })
})

describe('an outcome whose answer was lost', () => {
  test('is recorded once: a success', async () => {
    const { type } = createErrandType({ run: runAndWait })
    const lost = loseAnswers(errands.db, (text) => text.includes('rests boolean'), 2)
    const { queue, manager, audit } = createTestQueue(lost, [type], { sweep_interval: 3_600_000 })
    manager.start()
    const { item } = await queue.submit('errand', errand(), 'ann')
    await audit.waitFor(({ action, outcome }) => action === 'run' && outcome === 'succeeded', 'the run')
    await manager.stop()

    expect(await queue.getItem(item.id)).toMatchObject({ phase: 'active', actionable: false, leasedUntil: null })
    expect(audit.entries.filter(({ action }) => action === 'run')).toHaveLength(1)
  })

  test('is recorded once: a failure', async () => {
    const { type } = createErrandType({
      run: async () => ({ outcome: 'failed', code: 'shop_closed', message: 'Closed.' }),
    })
    const lost = loseAnswers(errands.db, (text) => text.includes('retry_in_ms'), 1)
    const { queue, manager, audit } = createTestQueue(lost, [type], { backoff_base: 600_000, backoff_max: 600_000 })
    manager.start()
    const { item } = await queue.submit('errand', errand(), 'ann')
    await audit.waitFor(({ outcome }) => outcome === 'failed', 'the failure')
    await manager.stop()

    expect(await queue.getItem(item.id)).toMatchObject({ attempts: 1, lastError: { code: 'shop_closed' } })
  })
})

describe('what the worker expects of an item after its own write', () => {
  test('is what is there', async () => {
    const { type } = createErrandType({
      run: async (draft) => {
        draft.detail.doneText = 'done'
        draft.settle('needs_run', { note: 'well' })
        draft.need('needs_check', { variant: 'a', deferMs: 3_600_000, note: 'later' })
        draft.need('needs_check', { variant: 'b' })
        return { outcome: 'succeeded' }
      },
      check: async (draft) => {
        seen.push({ item: draft.item, detail: draft.detail, dimensions: draft.dimensions })
        return { outcome: 'failed_for_good', code: 'seen', message: 'Seen.' }
      },
    })
    const seen: unknown[] = []
    const { queue, audit } = errands.start(type)
    const { item } = await queue.submit('errand', errand(), 'ann')
    await queue.ingest(event('nobody'))
    await audit.waitForPhase(item.id, 'failed')
    const { snapshot } = await queue.get(item.id)
    const [expected] = seen as [typeof snapshot]

    expect(expected.detail).toEqual(snapshot.detail)
    const shape = ({ dimensions }: typeof snapshot) =>
      dimensions.map(({ dimension, variant, status, note }) => [dimension, variant, status, note]).sort()
    expect(shape(expected)).toEqual(shape(snapshot))
    expect(expected.item).toMatchObject({ phase: 'active', attempts: 0, revision: 0n, wakeCount: 0n })
  })
})

describe('the sweep', () => {
  test('claims items by their events, however many of them one item has', async () => {
    const { type } = createErrandType()
    const { queue } = errands.prepare(type)
    const loud = await queue.submit('errand', errand('x', 'loud'), 'ann')
    const quiet = await queue.submit('errand', errand('x', 'quiet'), 'ann')
    await sql`
      insert into pending_events (work_item_id, event_type, event_at, body)
      select ${loud.item.id}, 'ping', now(), '{}' from generate_series(1, 50)`.execute(errands.db)
    await queue.ingest(event('quiet'))
    await sql`update work_items set actionable = false`.execute(errands.db)

    expect(await dueItems(errands.db, type)).toEqual([loud.item.id, quiet.item.id])
  })

  test('reads what is due and not what exists, even before anything was analyzed', async () => {
    const { type } = createErrandType()
    await errands.prepare(type).queue.submit('errand', errand(), 'ann')
    await sql`
      insert into work_items (id, item_type, dedup_key, content_hash, caller_identity)
      select gen_random_uuid(), 'errand', 'idle:' || number, 'x', 'ann'
      from generate_series(1, 5000) number`.execute(errands.db)
    await sql`
      insert into work_item_statuses (work_item_id, dimension, status, pending_until)
      select id, 'needs_check', 'true', now() + interval '1 hour' from work_items`.execute(errands.db)
    expect(await dueItems(errands.db, type)).toHaveLength(1)

    const plan = await explain(sweepText(registry(type), 10), [['errand'], 1_000, 10, [], [], 5, []])
    expect(plan).toContain('Index Scan using work_items_due')
    expect(plan).toContain('work_item_statuses_pending')
    expect(plan).not.toMatch(/Seq Scan on (work_items|work_item_statuses)\b/)
    expect(await claimItem(errands.db, type, '00000000-0000-7000-8000-000000000000')).toBeNull()
  })
})

async function explain(text: string, values: readonly unknown[]): Promise<string> {
  const { CompiledQuery } = await import('kysely')
  const { rows } = await errands.db.executeQuery<{ 'QUERY PLAN': string }>(
    CompiledQuery.raw(`explain ${text}`, [...values]),
  )
  return rows.map((row) => row['QUERY PLAN']).join('\n')
}

/** Transactions that have written, so far. */
async function writingCommits(): Promise<number> {
  const { rows } = await sql<{ id: string }>`select pg_current_xact_id()::text as id`.execute(errands.db)
  return Number(rows[0]?.id)
}
