/** What the loop promises: leases, the exit, failures, deferrals and stopping, over real PostgreSQL. */
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createErrandQueues, type ErrandQueues, errand, event } from '../../test/support/errand-queues.ts'
import { createErrandType, finishErrand, runAndWait } from '../../test/support/errand-type.ts'
import { createGate } from '../../test/support/gate.ts'
import { claimItem, dueItems, expireLease, waitingEvents } from '../../test/support/statements.ts'
import { WorkQueueError } from '../lib/errors.ts'
import type { Claimed } from './sql/claim-sql.ts'
import { createRestWorkItems, type Rest } from './sql/rest-work-items.ts'
import { createStoreEvents } from './sql/store-events.ts'

let errands: ErrandQueues
beforeAll(async () => {
  errands = await createErrandQueues()
})
afterEach(() => errands.reset())
afterAll(() => errands.drop())

describe('a lease', () => {
  test('that was taken over makes the former worker change nothing', async () => {
    const gate = createGate()
    const { type } = createErrandType({
      run: async (draft, context) => {
        await gate.pass()
        return finishErrand(draft, context)
      },
    })
    const { queue, manager } = errands.start(type)
    const { item } = await queue.submit('errand', errand(), 'ann')
    await gate.arrived
    await expireLease(errands.db, item.id)
    const epoch = (await claimItem(errands.db, type, item.id))?.epoch
    gate.open()
    await manager.stop()

    const { snapshot } = await queue.get(item.id)
    expect(snapshot.item).toMatchObject({ phase: 'active', leaseEpoch: epoch, resolution: null })
    expect(snapshot.item.leasedUntil).not.toBeNull()
    expect(snapshot.detail).toMatchObject({ doneText: null })
  })

  test('that was taken over aborts the action at the next heartbeat', async () => {
    const gate = createGate()
    const aborted = createGate()
    const { type } = createErrandType({
      run: async (_draft, { signal }) => {
        signal.addEventListener('abort', () => aborted.open())
        await gate.pass()
        await aborted.pass()
        throw signal.reason
      },
    })
    const { queue, manager, audit } = errands.start(type, { lease: 300 })
    const { item } = await queue.submit('errand', errand(), 'ann')
    gate.open()
    await aborted.arrived
    await expireLease(errands.db, item.id)
    await claimItem(errands.db, type, item.id)
    await manager.stop()

    expect(await queue.getItem(item.id)).toMatchObject({ attempts: 0, transientFailures: 0, lastError: null })
    expect(audit.entries.filter(({ event_type }) => event_type === 'action')).toEqual([])
  })

  test('is granted to one worker only', async () => {
    const { type } = createErrandType()
    const { item } = await errands.prepare(type).queue.submit('errand', errand(), 'ann')
    const claims = await Promise.all(Array.from({ length: 10 }, () => claimItem(errands.db, type, item.id)))

    expect(claims.flatMap((claimed) => claimed?.epoch ?? [])).toEqual([1n])
  })

  test('left behind by a crashed process runs out, and the sweep finds the item', async () => {
    const { type } = createErrandType()
    const { item } = await errands.prepare(type).queue.submit('errand', errand(), 'ann')
    await claimItem(errands.db, type, item.id)
    expect(await dueItems(errands.db, type)).toEqual([])

    await expireLease(errands.db, item.id)
    const { audit } = errands.start(type)
    await audit.waitForPhase(item.id, 'completed')
  })
})

describe('the exit', () => {
  test('sees an event whose insert it had to wait for', async () => {
    const { type } = createErrandType()
    const { queue } = errands.prepare(type)
    const { item } = await queue.submit('errand', errand('one', 'late'), 'ann')
    const claimed = await claimItem(errands.db, type, item.id)
    const inserter = createGate()
    const insert = errands.db.transaction().execute(async (tx) => {
      await createStoreEvents(tx)([{ workItemId: item.id, event: event('late') }], 'wait')
      await inserter.pass()
    })
    await inserter.arrived
    const rest = createRestWorkItems(errands.db)([restOf(claimed)], 'wait')
    await untilSomeoneWaitsForALock()
    inserter.open()
    await insert

    expect([...(await rest)]).toEqual([])
    expect(await waitingEvents(errands.db, type, item.id)).toHaveLength(1)
  })

  test('is not taken by a claim for what it could not have read', async () => {
    const { type } = createErrandType()
    const { queue } = errands.prepare(type)
    const { item } = await queue.submit('errand', errand('one', 'beside'), 'ann')
    const inserter = createGate()
    const insert = errands.db.transaction().execute(async (tx) => {
      await createStoreEvents(tx)([{ workItemId: item.id, event: event('beside') }], 'wait')
      await inserter.pass()
    })
    await inserter.arrived
    // The inserter still holds the row, so a claim passes the item over instead of waiting.
    expect(await claimItem(errands.db, type, item.id)).toBeNull()
    inserter.open()
    await insert

    const claimed = await claimItem(errands.db, type, item.id)
    expect(claimed).toMatchObject({ snapshot: { item: { wakeCount: 1n } }, events: [{ eventType: 'ping' }] })
  })

  test('leaves an item awake that a caller has written to', async () => {
    const { type } = createErrandType()
    const { queue } = errands.prepare(type)
    const { item } = await queue.submit('errand', errand('one', 'exit'), 'ann')
    const claimed = await claimItem(errands.db, type, item.id)
    await queue.submit('errand', errand('two', 'exit'), 'ann')

    expect([...(await createRestWorkItems(errands.db)([restOf(claimed)], 'wait'))]).toEqual([])
  })
})

describe('a failure', () => {
  test('spends an attempt and is tried again; the last one fails the item with its error', async () => {
    const { type } = createErrandType({
      run: async () => ({ outcome: 'failed', code: 'shop_closed', message: 'The shop is closed.' }),
    })
    const { queue, audit } = errands.start(type, { max_attempts: 3, backoff_base: 10 })
    const { item } = await queue.submit('errand', errand(), 'ann')
    await audit.waitForPhase(item.id, 'failed')

    const { snapshot } = await queue.get(item.id)
    expect(snapshot.item).toMatchObject({ attempts: 3, resolution: 'shop_closed', lastError: { code: 'shop_closed' } })
    expect(audit.entries.filter(({ outcome }) => outcome === 'failed')).toHaveLength(3)
  })

  test('for good ends the item at once, and a new submission brings it back', async () => {
    const { type, behaviour } = createErrandType({
      run: async () => ({ outcome: 'failed_for_good', code: 'no_such_shop', message: 'There is no such shop.' }),
    })
    const { queue, audit } = errands.start(type)
    const { item } = await queue.submit('errand', errand('one', 'back'), 'ann')
    await audit.waitForPhase(item.id, 'failed')
    behaviour.run = finishErrand
    const retried = await queue.submit('errand', errand('one', 'back'), 'ann')
    await audit.waitForPhase(item.id, 'completed')

    expect(retried).toMatchObject({ outcome: 'retried', item: { id: item.id, attempts: 0, lastError: null } })
  })

  test('of the outside world spends no attempt and is forgotten after a success', async () => {
    let calls = 0
    const { type } = createErrandType({
      run: async (draft, context) => {
        calls += 1
        if (calls <= 7) throw new WorkQueueError('shop_unreachable', 'No answer.', { failure: 'transient' })
        return finishErrand(draft, context)
      },
    })
    const { queue, audit } = errands.start(type, { max_attempts: 2, backoff_base: 1, backoff_max: 5 })
    const { item } = await queue.submit('errand', errand(), 'ann')
    await audit.waitForPhase(item.id, 'completed')

    expect(await queue.getItem(item.id)).toMatchObject({
      attempts: 0,
      transientFailures: 0,
      failingSince: null,
      lastError: null,
    })
  })

  test('of an action that a caller has overtaken does not hold up what the caller wants now', async () => {
    const gate = createGate()
    const { type } = createErrandType({
      run: async () => {
        await gate.pass()
        throw new WorkQueueError('busy', 'Later.', { failure: 'transient', retryAfterMs: 600_000 })
      },
    })
    const { queue, audit } = errands.start(type)
    const { item } = await queue.submit('errand', errand(), 'ann')
    await gate.arrived
    await queue.cancel(item.id, 'ann')
    gate.open()

    expect(await audit.waitForPhase(item.id, 'cancelled')).toMatchObject({ resolution: 'cancelled_by_caller' })
  })

  test('that outlasts the budget for outages fails the item', async () => {
    const { type } = createErrandType({
      run: async () => {
        throw new WorkQueueError('shop_unreachable', 'No answer.', { failure: 'transient' })
      },
    })
    const { queue, audit } = errands.start(type, { transient_budget: 5, backoff_base: 10, backoff_max: 10 })
    const { item } = await queue.submit('errand', errand(), 'ann')

    expect(await audit.waitForPhase(item.id, 'failed')).toMatchObject({ resolution: 'shop_unreachable' })
  })

  test('waits as long as the other side asked for', async () => {
    const { type } = createErrandType({
      run: async () => {
        throw new WorkQueueError('busy', 'Later.', { failure: 'transient', retryAfterMs: 600_000 })
      },
    })
    const { queue, audit } = errands.start(type)
    const { item } = await queue.submit('errand', errand(), 'ann')
    await audit.waitFor(({ outcome }) => outcome === 'failed_transiently', 'the failure')

    const { snapshot } = await queue.get(item.id)
    expect((snapshot.item.retryAt?.getTime() ?? 0) - snapshot.now.getTime()).toBeGreaterThan(590_000)
    expect(await dueItems(errands.db, type)).toEqual([])
  })
})

describe('a deferred dimension', () => {
  test('wakes its item when it comes due, without a sweep', async () => {
    const { type } = createErrandType({
      run: async (draft) => {
        draft.settle('needs_run')
        draft.need('needs_check', { deferMs: 50 })
        return { outcome: 'succeeded' }
      },
      check: async (draft) => {
        draft.settle('needs_check')
        draft.finish('completed', 'checked')
        return { outcome: 'succeeded' }
      },
    })
    const { queue, audit } = errands.start(type)
    const { item } = await queue.submit('errand', errand(), 'ann')

    expect(await audit.waitForPhase(item.id, 'completed')).toMatchObject({ resolution: 'checked' })
  })

  test('that came due while no process ran is found by the sweep of its type, and not before', async () => {
    const { type } = createErrandType({
      run: async (draft) => {
        draft.settle('needs_run')
        draft.need('needs_check', { deferMs: 3_000_000 })
        return { outcome: 'succeeded' }
      },
    })
    const { queue, manager, audit } = errands.start(type)
    const { item } = await queue.submit('errand', errand(), 'ann')
    await audit.waitFor(({ action }) => action === 'run', 'the run')
    await manager.stop()
    expect((await queue.getItem(item.id)).leasedUntil).toBeNull()
    await sql`update work_items set actionable = false where id = ${item.id}`.execute(errands.db)
    expect(await dueItems(errands.db, type)).toEqual([])

    await sql`
      update work_item_statuses
      set pending_until = now()
      where work_item_id = ${item.id} and status = 'true'`.execute(errands.db)
    expect(await dueItems(errands.db, type)).toEqual([item.id])
    expect(await dueItems(errands.db)).toEqual([])
    expect(await dueItems(errands.db, { ...type, name: 'other' })).toEqual([])
  })
})

describe('a backlog', () => {
  test('larger than the pool is worked off without waiting for the next sweep', async () => {
    const { type } = createErrandType()
    const prepared = errands.prepare(type)
    const items = await Promise.all(Array.from({ length: 30 }, () => prepared.queue.submit('errand', errand(), 'ann')))
    const { audit } = errands.start(type, { workers: 2 })

    await Promise.all(items.map(({ item }) => audit.waitForPhase(item.id, 'completed')))
  })
})

describe('stopping', () => {
  test('lets a running action finish and leaves the rest to the next process', async () => {
    const gate = createGate()
    const { type } = createErrandType({
      run: async (draft, context) => {
        await gate.pass()
        return runAndWait(draft, context)
      },
    })
    const { queue, manager } = errands.start(type, { workers: 1 })
    const first = await queue.submit('errand', errand(), 'ann')
    const second = await queue.submit('errand', errand(), 'ann')
    await gate.arrived
    const stopped = manager.stop()
    gate.open()
    await stopped

    const { snapshot } = await queue.get(first.item.id)
    expect(snapshot).toMatchObject({ detail: { doneText: 'buy milk' }, item: { leasedUntil: null } })
    expect(await dueItems(errands.db, type)).toContain(second.item.id)
  })

  test('interrupts what does not finish in time, counts no failure and gives the lease back', async () => {
    const started = createGate()
    started.open()
    const { type } = createErrandType({
      run: async (_draft, { signal }) => {
        await started.pass()
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
        return { outcome: 'succeeded' }
      },
    })
    const { queue, manager } = errands.start(type, { shutdown_grace: 20 })
    const { item } = await queue.submit('errand', errand(), 'ann')
    await started.arrived
    await manager.stop()

    expect(await queue.getItem(item.id)).toMatchObject({ phase: 'active', attempts: 0, leasedUntil: null })
    expect(await dueItems(errands.db, type)).toEqual([item.id])
  })
})

function restOf(claimed: Claimed | null): Rest {
  if (claimed === null) throw new Error('the item could not be claimed')
  const { id, revision, wakeCount } = claimed.snapshot.item
  return { id, epoch: claimed.epoch, revision, wakeCount }
}

/** PostgreSQL's own word for it; no time is involved. */
async function untilSomeoneWaitsForALock(): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ waiting: number }>`
      select count(*)::int as waiting
      from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(errands.db)
    if ((rows[0]?.waiting ?? 0) > 0) return
  }
}
