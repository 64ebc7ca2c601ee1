/** How many open items a caller and a project may have. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createErrandQueues, type ErrandQueues, errand } from '../../test/support/errand-queues.ts'
import { createErrandType } from '../../test/support/errand-type.ts'
import { createTestQueue, type TestQueue } from '../../test/support/queue.ts'
import type { QueueConfig } from './config.ts'
import { createOpenItems, type OpenItems } from './open-items.ts'

let errands: ErrandQueues
beforeAll(async () => {
  errands = await createErrandQueues()
})
afterEach(() => errands.reset())
afterAll(() => errands.drop())

/** A process that accepts, and works on nothing. */
function accepting(config: Partial<QueueConfig>): TestQueue {
  return createTestQueue(errands.db, [createErrandType().type as never], config)
}

test('a caller with as many open items as it may have can change them, and submits no new one', async () => {
  const { queue } = accepting({ open_items_per_caller: 2 })
  await queue.submit('errand', errand('one', 'first'), 'ann')
  await queue.submit('errand', errand('one', 'second'), 'ann')

  await expect(queue.submit('errand', errand(), 'ann')).rejects.toMatchObject({
    code: 'too_many_open_items',
    failure: 'transient',
    message: expect.stringContaining('You have 2 open work items, which is the most. Wait until some have ended'),
  })
  expect((await queue.submit('errand', errand('two', 'first'), 'ann')).outcome).toBe('updated')
  expect((await queue.submit('errand', errand('two', 'first'), 'ann')).outcome).toBe('unchanged')
  expect((await queue.submit('errand', errand(), 'bob')).outcome).toBe('created')
})

test('a project is full for everybody, other projects are not', async () => {
  const { queue } = accepting({ open_items_per_key: 1 })
  await queue.submit('errand', errand('go', 'shop/milk'), 'ann')
  await expect(queue.submit('errand', errand('go', 'shop/bread'), 'bob')).rejects.toMatchObject({
    code: 'too_many_open_items',
    message: expect.stringContaining('for shop'),
  })
  expect((await queue.submit('errand', errand('go', 'park/dog'), 'bob')).outcome).toBe('created')
})

test('what other processes have accepted counts, and what has ended does not', async () => {
  let now = 0
  const { queue } = accepting({ open_items_per_caller: null })
  const openItems = createOpenItems(errands.db, { open_items_per_caller: 1, open_items_per_key: null }, () => now)
  expect(await excessOf(openItems)).toBeNull()

  const { item } = await queue.submit('errand', errand(), 'ann')
  now += 1_001
  expect(await excessOf(openItems)).toMatchObject({ code: 'too_many_open_items' })

  await errands.db
    .updateTable('work_items')
    .set({ phase: 'completed', resolution: 'done', actionable: false, ended_at: new Date() })
    .where('id', '=', item.id)
    .execute()
  now += 1_001
  expect(await excessOf(openItems)).toBeNull()
})

/** Why ann may have no more. */
async function excessOf(openItems: OpenItems): Promise<unknown> {
  let found: unknown
  await openItems.within(
    { caller: 'ann', concurrencyKey: null },
    async (excess) => {
      found = excess
    },
    () => false,
  )
  return found
}

test('fifty at once make no more than the limit in one process', async () => {
  const { queue } = accepting({ open_items_per_caller: 20 })
  const all = await Promise.allSettled(Array.from({ length: 50 }, () => queue.submit('errand', errand(), 'ann')))
  expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(20)
})
