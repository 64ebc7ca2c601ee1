/** The kill switch, over real PostgreSQL and two processes of a queue. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createErrandQueues, type ErrandQueues, errand } from '../../test/support/errand-queues.ts'
import { createErrandType, finishErrand } from '../../test/support/errand-type.ts'
import { createGate } from '../../test/support/gate.ts'
import { createTestQueue, type TestQueue } from '../../test/support/queue.ts'
import type { AnyItemType } from './item-type.ts'
import { holds, type PauseScope } from './pause.ts'
import { holdWorkItem } from './sql/hold-work-item.ts'
import { endPause } from './sql/pauses.ts'

let errands: ErrandQueues
let open: TestQueue[]
beforeAll(async () => {
  errands = await createErrandQueues()
})
beforeEach(() => {
  open = []
})
afterEach(async () => {
  await Promise.all(open.map((process) => process.stop()))
  await errands.db.deleteFrom('pauses').execute()
  await errands.reset()
})
afterAll(() => errands.drop())

/** A process as it runs: it knows what is paused before it begins. */
async function startProcess(type: AnyItemType = createErrandType().type as unknown as AnyItemType): Promise<TestQueue> {
  const process = createTestQueue(errands.db, [type], { sweep_interval: 50 }, errands.url)
  open.push(process)
  await process.start()
  return process
}

const LONG = { timeout: 20_000 }

const ANY: PauseScope = { itemType: null, concurrencyKey: null, callerIdentity: null }

describe('a pause', () => {
  test('keeps what fits from being worked on, says so, and lets the rest go on', async () => {
    const { queue, pauses, audit } = await startProcess()
    await pauses.pause({ ...ANY, callerIdentity: 'ann' }, 'a runaway job', 'token:ops')
    const held = await queue.submit('errand', errand(), 'ann')
    const other = await queue.submit('errand', errand(), 'bob')
    await audit.waitForPhase(other.item.id, 'completed')

    const { snapshot, presentation } = await queue.get(held.item.id)
    expect(snapshot.item).toMatchObject({ phase: 'active', attempts: 0, actionable: true })
    const blocker = {
      code: 'paused',
      message: 'An operator (token:ops) has paused it: a runaway job',
      clearedBy: 'an operator',
    }
    expect(presentation.blockers[0]).toMatchObject(blocker)
    const { items } = await queue.list({ limit: 10, callerIdentity: 'ann' })
    expect(items[0]?.presentation.blockers[0]).toMatchObject(blocker)
  })

  test('that ends lets what it held go on at once', async () => {
    const { queue, pauses, audit } = await startProcess()
    const { pause } = await pauses.pause({ ...ANY, itemType: 'errand' }, 'maintenance', 'token:ops')
    const { item } = await queue.submit('errand', errand(), 'ann')
    await expect.poll(async () => (await queue.getItem(item.id)).dueAt > new Date(Date.now() + 20_000), LONG).toBe(true)
    await pauses.resume(pause.id, 'token:ops')
    await audit.waitForPhase(item.id, 'completed')

    expect((await queue.get(item.id)).presentation.blockers).toEqual([])
    expect(audit.entries.filter(({ action }) => action === 'pause' || action === 'resume')).toMatchObject([
      { action: 'pause', caller: 'token:ops', item_type: 'errand', facts: { reason: 'maintenance' } },
      { action: 'resume', caller: 'token:ops' },
    ])
  })

  test('that has ended holds nothing in a process that does not know it yet', async () => {
    const { queue, pauses } = await startProcess()
    const { pause } = await pauses.pause(ANY, 'stop', 'token:ops')
    const { item } = await queue.submit('errand', errand(), 'ann')
    const later = () => queue.getItem(item.id).then(({ dueAt }) => dueAt > new Date(Date.now() + 20_000))
    await expect.poll(later, LONG).toBe(true)
    await endPause(errands.db, pause)
    expect(await later()).toBe(false)

    const { leaseEpoch } = await queue.getItem(item.id)
    await holdWorkItem(errands.db, { id: item.id, epoch: leaseEpoch }, pause.id, 60_000.5)
    expect(await later()).toBe(false)
  })

  test('made in one process interrupts what runs in another, and counts no failure', async () => {
    const gate = createGate()
    const interrupted = Promise.withResolvers<boolean>()
    const { type } = createErrandType({
      async run(draft, context) {
        await gate.pass()
        interrupted.resolve(context.signal.aborted)
        // As every executor does before a write.
        context.signal.throwIfAborted()
        return finishErrand(draft, context)
      },
    })
    const worker = await startProcess(type as unknown as AnyItemType)
    const { item } = await worker.queue.submit('errand', errand(), 'ann')
    await gate.arrived
    const elsewhere = await startProcess(type as unknown as AnyItemType)
    await elsewhere.pauses.pause(ANY, 'stop', 'token:ops')
    await expect.poll(async () => (await worker.queue.get(item.id)).presentation.blockers[0]?.code, LONG).toBe('paused')
    gate.open()

    expect(await interrupted.promise).toBe(true)
    await expect.poll(async () => (await worker.queue.getItem(item.id)).leasedUntil, LONG).toBeNull()
    expect(await worker.queue.getItem(item.id)).toMatchObject({ phase: 'active', attempts: 0, lastError: null })
  })

  test('of the same things again only changes the reason', async () => {
    const { pauses } = await startProcess()
    const first = await pauses.pause(ANY, 'one', 'token:ops')
    const second = await pauses.pause(ANY, 'two', 'token:other')
    expect([first.isNew, second.isNew, second.pause.id]).toEqual([true, false, first.pause.id])
    expect(await pauses.list()).toMatchObject([{ reason: 'two', createdBy: 'token:other' }])
  })

  test('that has ended cannot be ended again', async () => {
    const { pauses } = await startProcess()
    const { pause } = await pauses.pause(ANY, 'one', 'token:ops')
    await pauses.resume(pause.id, 'token:ops')
    await expect(pauses.resume(pause.id, 'token:ops')).rejects.toMatchObject({ code: 'pause_not_found' })
  })
})

test.each<[string, Partial<PauseScope>, boolean]>([
  ['everything', {}, true],
  ['its type', { itemType: 'mr' }, true],
  ['another type', { itemType: 'cve' }, false],
  ['its project, in another case', { concurrencyKey: 'GROUP/App' }, true],
  ['another project', { concurrencyKey: 'group/apps' }, false],
  ['its caller', { callerIdentity: 'token:a' }, true],
  ['another caller', { callerIdentity: 'token:A' }, false],
  ['its caller, in another project', { callerIdentity: 'token:a', concurrencyKey: 'other/one' }, false],
])('a pause of %s holds an item: %j %s', (_title, scope, held) => {
  const item = { itemType: 'mr', concurrencyKey: 'group/app', callerIdentity: 'token:a' }
  expect(holds({ ...ANY, ...scope }, item)).toBe(held)
})
