/** What becomes of items whose actions hang, whose processes die, or whose types are at fault, over real PostgreSQL. */
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createErrandQueues, type ErrandQueues, errand } from '../../test/support/errand-queues.ts'
import { createErrandType } from '../../test/support/errand-type.ts'
import { claimItem, expireLease } from '../../test/support/statements.ts'

let errands: ErrandQueues
beforeAll(async () => {
  errands = await createErrandQueues()
})
afterEach(() => errands.reset())
afterAll(() => errands.drop())

describe('an action that never ends', () => {
  test('is interrupted when it has had its time, and fails whether it notices or not', async () => {
    const { type } = createErrandType({ run: () => new Promise<never>(() => {}) })
    const { queue, manager, audit } = errands.start(type, {
      ...{ workers: 1, action_timeout: 20, max_attempts: 2, backoff_base: 1, shutdown_grace: 100 },
    })
    const hanging = await queue.submit('errand', errand(), 'ann')
    await audit.waitForPhase(hanging.item.id, 'failed')

    expect(await queue.getItem(hanging.item.id)).toMatchObject({ attempts: 2, resolution: 'action_timed_out' })
    expect(manager.status().running).toBe(0)
  })

  test('ends at once when it notices', async () => {
    const { type } = createErrandType({
      run: (_draft, { signal }) =>
        new Promise((_resolve, reject) => void signal.addEventListener('abort', () => reject(signal.reason))),
    })
    const { queue, audit } = errands.start(type, { action_timeout: 20, max_attempts: 1 })
    const { item } = await queue.submit('errand', errand(), 'ann')

    expect(await audit.waitForPhase(item.id, 'failed')).toMatchObject({ resolution: 'action_timed_out' })
  })
})

describe('an item that ends its process', () => {
  test('fails after as many claims without an outcome as it has attempts, and can be retried', async () => {
    const { type } = createErrandType()
    const { item } = await errands.prepare(type).queue.submit('errand', errand(), 'ann')
    for (let death = 0; death < 3; death += 1) {
      expect(await claimItem(errands.db, type, item.id)).toMatchObject({ unfinishedClaims: death + 1 })
      await expireLease(errands.db, item.id)
    }
    const { queue, audit } = errands.start(type, { max_attempts: 3 })
    expect(await audit.waitForPhase(item.id, 'failed')).toMatchObject({ resolution: 'workers_lost' })

    await queue.retry(item.id, 'ann')
    await audit.waitForPhase(item.id, 'completed')
  })
})

describe('what a type cannot deal with', () => {
  test('fails its own item and spoils no other: a decider that throws, a detail that is gone', async () => {
    const { type } = createErrandType()
    const decide = type.decide
    const fragile = {
      ...type,
      decide(snapshot: Parameters<typeof decide>[0]) {
        if (snapshot.detail.text === 'riddle') throw new Error('no idea')
        return decide(snapshot)
      },
    }
    const prepared = errands.prepare(fragile)
    const riddle = await prepared.queue.submit('errand', errand('riddle'), 'ann')
    const spoilt = await prepared.queue.submit('errand', errand(), 'ann')
    const sound = await prepared.queue.submit('errand', errand(), 'ann')
    await sql`delete from errand_details where work_item_id = ${spoilt.item.id}`.execute(errands.db)
    const { queue, audit } = errands.start(fragile, { max_attempts: 2, backoff_base: 1 })
    await audit.waitForPhase(sound.item.id, 'completed')
    await Promise.all([riddle, spoilt].map(({ item }) => audit.waitForPhase(item.id, 'failed')))

    expect(await queue.getItem(riddle.item.id)).toMatchObject({ lastError: { code: 'internal_error' } })
    await expect(queue.get(spoilt.item.id)).rejects.toMatchObject({ code: 'unreadable_item' })
    expect((await queue.list({ limit: 10 })).items).toHaveLength(2)
  })

  test('fails an action whose draft cannot be stored', async () => {
    const { type } = createErrandType({
      run: async (draft) => {
        draft.settle('needs_run', { note: 'nothing \u0000 at all' })
        return { outcome: 'succeeded' }
      },
    })
    const { queue, audit } = errands.start(type, { max_attempts: 2, backoff_base: 1 })
    const { item } = await queue.submit('errand', errand(), 'ann')
    await audit.waitForPhase(item.id, 'failed')

    expect(await queue.getItem(item.id)).toMatchObject({ attempts: 2, lastError: { code: 'internal_error' } })
  })
})
