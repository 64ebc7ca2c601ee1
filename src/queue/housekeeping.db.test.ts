import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createErrandQueues, type ErrandQueues, errand, event } from '../../test/support/errand-queues.ts'
import { createErrandType, runAndWait } from '../../test/support/errand-type.ts'
import type { Log } from '../lib/log.ts'
import { createHousekeeping } from './housekeeping.ts'

const DAY_MS = 86_400_000

let errands: ErrandQueues
beforeAll(async () => {
  errands = await createErrandQueues()
})
afterEach(() => errands.reset())
afterAll(() => errands.drop())

test('items that ended long ago go with all that belongs to them, in batches; the others stay', async () => {
  const { type, behaviour } = createErrandType()
  const { queue, audit, manager } = errands.start(type)
  const ended = await Promise.all(Array.from({ length: 5 }, () => queue.submit('errand', errand(), 'ann')))
  const young = await queue.submit('errand', errand(), 'ann')
  for (const { item } of [...ended, young]) await audit.waitForPhase(item.id, 'completed')
  behaviour.run = runAndWait
  const alive = await queue.submit('errand', errand('x', 'alive'), 'ann')
  await audit.waitFor(({ work_item_id, action }) => work_item_id === alive.item.id && action === 'run', 'its run')
  await manager.stop()
  const ids = ended.map(({ item }) => item.id)
  await sql`update work_items set ended_at = now() - interval '3 days' where id = any(${ids})`.execute(errands.db)
  await sql`update work_items set created_at = now() - interval '9 days', updated_at = now() - interval '9 days'`.execute(
    errands.db,
  )
  await queue.ingest(event('alive'))

  const removed = Promise.withResolvers<unknown>()
  const log: Log = { debug() {}, info: (fields) => removed.resolve(fields), warn() {}, error() {} }
  const housekeeping = createHousekeeping({ db: errands.db, log, retentionMs: 2 * DAY_MS, batch: 2, pauseMs: 1 })
  housekeeping.start()
  expect(await removed.promise).toEqual({ removed: 5 })
  await housekeeping.stop()

  const left = await queue.list({ limit: 10 })
  expect(left.items.map(({ item }) => item.id).sort()).toEqual([young.item.id, alive.item.id].sort())
  const { rows } = await sql<{ details: number }>`
    select count(*)::int as details from errand_details`.execute(errands.db)
  expect(rows).toEqual([{ details: 2 }])
})
