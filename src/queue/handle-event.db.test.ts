/** What events do to an item, over real PostgreSQL and an item type that is not `mr`. */
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createErrandQueues, type ErrandQueues, errand, event } from '../../test/support/errand-queues.ts'
import { createErrandType, runAndWait } from '../../test/support/errand-type.ts'
import { waitingEvents } from '../../test/support/statements.ts'
import { createStoreEvents } from './sql/store-events.ts'

let errands: ErrandQueues
beforeAll(async () => {
  errands = await createErrandQueues()
})
afterEach(() => errands.reset())
afterAll(() => errands.drop())

describe('an event', () => {
  test('wakes the item it concerns and is gone once applied', async () => {
    const { type } = createErrandType({ run: runAndWait })
    const { queue, audit } = errands.start(type)
    const { item } = await queue.submit('errand', errand('one', 'called'), 'ann')
    expect(await queue.ingest(event('called'))).toEqual([item.id])
    await audit.waitFor(({ action, outcome }) => action === 'check' && outcome === 'succeeded', 'the check')

    expect(await waitingEvents(errands.db, type, item.id)).toEqual([])
    expect(await queue.ingest(event('nobody'))).toEqual([])
  })

  test('delivered twice is stored once', async () => {
    const { type } = createErrandType()
    const { queue } = errands.prepare(type)
    const { item } = await queue.submit('errand', errand('one', 'twice'), 'ann')
    const delivery = event('twice', { sourceId: 'delivery-1' })
    await Promise.all([queue.ingest(delivery), queue.ingest(delivery)])
    await queue.ingest(delivery)

    expect(await waitingEvents(errands.db, type, item.id)).toHaveLength(1)
    expect((await queue.getItem(item.id)).wakeCount).toBe(1n)
  })

  test('that cannot be handled dies after five tries and does not block the next one', async () => {
    const { type } = createErrandType({
      run: runAndWait,
      handle: ({ eventType }) => {
        if (eventType === 'poison') throw new Error('cannot read this')
        return { phase: 'completed', resolution: 'told', dimensions: [], trigger: eventType }
      },
    })
    const prepared = errands.prepare(type)
    const { item } = await prepared.queue.submit('errand', errand('one', 'poisoned'), 'ann')
    await prepared.queue.ingest(event('poisoned', { eventType: 'poison' }))
    await prepared.queue.ingest(event('poisoned'))
    const { audit } = errands.start(type)
    await audit.waitForPhase(item.id, 'completed')
    const { snapshot } = await prepared.queue.get(item.id)
    expect(snapshot.dimensions.map(({ status }) => status)).not.toContain('true')

    const { rows } = await sql`
      select attempts, dead, error from pending_events where work_item_id = ${item.id}`.execute(errands.db)
    expect(rows).toEqual([{ attempts: 5, dead: true, error: 'cannot read this' }])
  })

  test('older than one that was applied changes no phase, but its dimensions count', async () => {
    const { type } = createErrandType({
      run: runAndWait,
      handle: ({ eventType }) => ({
        phase: eventType === 'end' ? 'completed' : null,
        dimensions: [{ dimension: 'needs_check', status: 'true' }],
        trigger: eventType,
      }),
    })
    const { queue, audit } = errands.start(type)
    const { item } = await queue.submit('errand', errand('one', 'stale'), 'ann')
    const checks = () => audit.entries.filter(({ action }) => action === 'check').length
    await queue.ingest(event('stale', { eventAt: new Date('2026-03-02T10:00:01Z') }))
    await audit.waitFor(() => checks() === 1, 'the first check')
    await queue.ingest(event('stale', { eventAt: new Date('2026-03-02T10:00:00Z'), eventType: 'end' }))
    await audit.waitFor(() => checks() === 2, 'the check that the stale event asked for')
    expect((await queue.getItem(item.id)).phase).toBe('active')

    // The same second is not stale: GitLab's times are whole seconds.
    await queue.ingest(event('stale', { eventAt: new Date('2026-03-02T10:00:01Z'), eventType: 'end' }))
    await audit.waitForPhase(item.id, 'completed')
  })

  test('from the far future does not make later ones stale', async () => {
    const { type } = createErrandType()
    const { queue } = errands.prepare(type)
    const { item } = await queue.submit('errand', errand('one', 'future'), 'ann')
    await queue.ingest(event('future', { eventAt: new Date('2099-01-01') }))

    const [stored] = await waitingEvents(errands.db, type, item.id)
    expect(stored?.eventAt.getTime()).toBeLessThan(Date.now() + 60_000)
  })

  test('for an item that has ended is not stored', async () => {
    const { type } = createErrandType()
    const { queue, audit } = errands.start(type)
    const { item } = await queue.submit('errand', errand('one', 'over'), 'ann')
    await audit.waitForPhase(item.id, 'completed')

    const store = createStoreEvents(errands.db)
    expect(await store([{ workItemId: item.id, event: event('over') }], 'wait')).toEqual(['refused'])
    expect(await waitingEvents(errands.db, type, item.id)).toEqual([])
  })
})
