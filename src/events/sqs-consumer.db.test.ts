import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type EventStream, type EventStreamOptions, startEventStream } from '../../sandbox/events/event-stream.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { createErrandTable, createErrandType, runAndWait } from '../../test/support/errand-type.ts'
import { createTestQueue, type TestQueue } from '../../test/support/queue.ts'
import { createEventCounts } from '../lib/event-counts.ts'
import type { Log } from '../lib/log.ts'
import type { WorkQueue } from '../queue/work-queue.ts'
import { eventsConfigSchema } from './config.ts'
import { createSqsConsumer, type SqsConsumer } from './sqs-consumer.ts'

let database: TestDatabase
let queue: TestQueue
let itemId: string

beforeAll(async () => {
  database = await createTestDatabase()
  await createErrandTable(database.db)
  queue = createTestQueue(database.db, [createErrandType({ run: runAndWait }).type])
  itemId = (await queue.queue.submit('errand', { item_type: 'errand', name: 'milk', text: 'wait' }, 'tester')).item.id
})
afterAll(() => database.drop())

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await database.db.deleteFrom('pending_events').execute()
})

interface Stage {
  readonly stream: EventStream
  readonly consumer: SqsConsumer
  readonly counts: ReturnType<typeof createEventCounts>
  readonly logged: string[]
}

async function stage(
  options: EventStreamOptions = {},
  work: Pick<WorkQueue, 'ingestAll'> = queue.queue,
): Promise<Stage> {
  const stream = await startEventStream(options)
  const counts = createEventCounts()
  const logged: string[] = []
  const write = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`)
  const log: Log = { debug: write, info: write, warn: write, error: write }
  const config = eventsConfigSchema.parse({ queue_url: stream.queueUrl, visibility_timeout: '5s', receivers: 1 })
  const consumer = createSqsConsumer({ queue: work, config, counts, log, connection: stream.connection })
  ends.push(stream.stop, () => consumer.stop())
  return { stream, consumer, counts, logged }
}

const bodyFor = (name: string, text = '') => JSON.stringify({ object_kind: 'push', name, text })

async function stored(): Promise<readonly { source_id: string | null; work_item_id: string }[]> {
  return database.db.selectFrom('pending_events').select(['source_id', 'work_item_id']).orderBy('id').execute()
}

const isEmpty = ({ stream }: Stage) => {
  const { ready, inFlight } = stream.depth()
  return ready + inFlight === 0
}

describe('the consumer of the queue of events', () => {
  test.each([{ raw: false }, { raw: true }])(
    'stores what arrives and deletes it then, with raw: $raw',
    async (options) => {
      const at = await stage(options)
      for (let count = 0; count < 25; count += 1) at.stream.publish(bodyFor('milk'))
      at.consumer.start()
      await expect.poll(() => isEmpty(at)).toBe(true)
      expect(await stored()).toHaveLength(25)
      expect(at.counts.read()).toMatchObject({ received_sqs: 25, unreadable: 0 })
      expect(at.consumer.status()).toMatchObject({ state: 'receiving', lagMs: expect.any(Number) })
    },
  )

  test('keeps the id of the message, so that a second delivery of it is nothing new', async () => {
    const at = await stage()
    const id = at.stream.send(bodyFor('milk'))
    const [before] = [
      await queue.queue.ingest({ eventType: 'push', eventAt: new Date(), body: { name: 'milk' }, sourceId: id }),
    ]
    expect(before).toEqual([itemId])
    at.consumer.start()
    await expect.poll(() => isEmpty(at)).toBe(true)
    expect(await stored()).toEqual([{ source_id: id, work_item_id: itemId }])
  })

  test('passes over what concerns nobody, or is no event', async () => {
    const at = await stage()
    at.stream.publish(bodyFor('nobody'))
    at.stream.publish('{"kind":"TaskRun"}')
    at.consumer.start()
    await expect.poll(() => isEmpty(at)).toBe(true)
    expect(await stored()).toEqual([])
    expect(at.counts.read()).toMatchObject({ received_sqs: 2, unknown: 1 })
  })

  test('leaves what cannot be read to the redrive policy, and tells nobody what it held', async () => {
    const at = await stage({ maxReceives: 1 })
    at.stream.send('{"object_kind":"push","secret-text":')
    at.stream.publish(bodyFor('milk', 'secret-text'))
    at.consumer.start()
    await expect.poll(async () => (await stored()).length).toBe(1)
    await expect.poll(() => at.counts.read().unreadable).toBe(1)
    await expect
      .poll(() => at.stream.depth(), { timeout: 15_000, interval: 100 })
      .toEqual({ ready: 0, inFlight: 0, dead: 1 })
    expect(at.logged.join()).toContain('left to the redrive policy')
    expect(at.logged.join()).not.toContain('secret-text')
  })

  test('keeps a batch invisible for as long as the database makes it wait, and stores it once', async () => {
    let isAway = true
    const away = Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })
    const work: Pick<WorkQueue, 'ingestAll'> = {
      ingestAll: (events) =>
        isAway ? Promise.allSettled(events.map(() => Promise.reject(away))) : queue.queue.ingestAll(events),
    }
    // A second receive would set it aside.
    const at = await stage({ maxReceives: 1 }, work)
    at.stream.publish(bodyFor('milk'))
    at.consumer.start()
    await expect.poll(() => at.stream.invisibleUntil()).not.toBeNull()
    const first = at.stream.invisibleUntil() ?? 0
    await expect.poll(() => at.stream.invisibleUntil(), { timeout: 10_000 }).toBeGreaterThan(first)
    isAway = false
    await expect.poll(() => isEmpty(at), { timeout: 10_000 }).toBe(true)
    expect(at.stream.depth().dead).toBe(0)
    expect(await stored()).toHaveLength(1)
  })

  test('stops at once while it waits for events', async () => {
    const at = await stage()
    at.consumer.start()
    at.stream.publish(bodyFor('milk'))
    await expect.poll(() => isEmpty(at)).toBe(true)
    const startedAt = performance.now()
    await at.consumer.stop()
    expect(performance.now() - startedAt).toBeLessThan(2_000)
    at.stream.publish(bodyFor('milk'))
    expect(at.stream.depth()).toMatchObject({ ready: 1 })
    expect(at.consumer.status().state).toBe('stopped')
  })

  test('stores and deletes the batch under way before it has stopped', async () => {
    const release = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const work: Pick<WorkQueue, 'ingestAll'> = {
      async ingestAll(events) {
        begun.resolve()
        await release.promise
        return queue.queue.ingestAll(events)
      },
    }
    const at = await stage({}, work)
    at.stream.publish(bodyFor('milk'))
    at.consumer.start()
    await begun.promise
    const stopped = at.consumer.stop()
    release.resolve()
    await stopped
    expect(isEmpty(at)).toBe(true)
    expect(await stored()).toHaveLength(1)
  })

  test('says that it is paused while SQS does not answer, and goes on when it does', async () => {
    const at = await stage()
    await at.stream.stop()
    at.consumer.start()
    await expect.poll(() => at.consumer.status().state, { timeout: 10_000 }).toBe('paused')
    expect(at.logged.join()).toContain('does not answer as it should')
    await at.consumer.stop()
    ends.splice(0)
  })
})
