/** Queues of errands for one test file: a database of its own, and every queue that a test started is stopped after it. */
import { sql } from 'kysely'
import type { Database } from '../../src/db/database.ts'
import type { QueueConfig } from '../../src/queue/config.ts'
import type { AnyItemType, IncomingEvent } from '../../src/queue/item-type.ts'
import { createTestDatabase } from './database.ts'
import { createErrandTable, type ErrandSubmission } from './errand-type.ts'
import { createTestQueue, type TestQueue } from './queue.ts'

export interface ErrandQueues {
  readonly db: Database
  readonly url: string
  /** A queue whose manager is at work, with no sweep but the one at its start. */
  start(type: AnyItemType, config?: Partial<QueueConfig>): TestQueue
  /** A queue whose manager is not started: it accepts and works on nothing. */
  prepare(type: AnyItemType): TestQueue
  reset(): Promise<void>
  drop(): Promise<void>
}

const NEVER_MS = 3_600_000

export async function createErrandQueues(): Promise<ErrandQueues> {
  const database = await createTestDatabase()
  await createErrandTable(database.db)
  const running: TestQueue[] = []
  return {
    db: database.db,
    url: database.url,
    start(type, config = {}) {
      const started = createTestQueue(database.db, [type], { sweep_interval: NEVER_MS, ...config })
      started.manager.start()
      running.push(started)
      return started
    },
    prepare: (type) => createTestQueue(database.db, [type]),
    async reset() {
      await Promise.all(running.splice(0).map(({ manager }) => manager.stop()))
      await sql`delete from work_items`.execute(database.db)
    },
    drop: () => database.drop(),
  }
}

let made = 0

/** A submission; each has a name of its own unless it is given one. */
export function errand(text = 'buy milk', name?: string): ErrandSubmission {
  made += 1
  return { item_type: 'errand', name: name ?? `errand-${made}`, text }
}

/** An event about the errand of this name. */
export function event(name: string, overrides: Partial<IncomingEvent> = {}): IncomingEvent {
  return { eventType: 'ping', eventAt: new Date(), sourceId: null, body: { name }, ...overrides }
}
