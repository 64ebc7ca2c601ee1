/**
 * One process of a fleet under test: a whole queue over the database, driven by its parent through messages, so that the
 * parent may kill, stop or terminate it like any service process. SIGTERM does what the service does at its end.
 */
import { sql } from 'kysely'
import type { z } from 'zod'
import { connectDatabase } from '../../src/db/database.ts'
import { messageOf, WorkQueueError } from '../../src/lib/errors.ts'
import { queueConfigSchema } from '../../src/queue/config.ts'
import { createTestQueue } from '../support/queue.ts'
import { createChaosErrand } from './support/chaos-errand.ts'
import { callSchema, type Reply, workerOptionsSchema } from './support/messages.ts'

const CALLER = 'chaos'

const options = workerOptionsSchema.parse(JSON.parse(process.argv[2] ?? ''))
const db = await connectDatabase({ url: options.url, maxConnections: options.maxConnections })
const type = createChaosErrand(options.name, options.journal)
const config = queueConfigSchema.parse({ open_items_per_caller: null, open_items_per_key: null, ...options.config })
const { queue, admin, start, stop } = createTestQueue(db, [type], config, options.listenUrl)

async function answer(message: unknown): Promise<void> {
  const { id, call } = callSchema.parse(message)
  try {
    send({ id, value: await run(call) })
  } catch (error) {
    const code = error instanceof WorkQueueError ? error.code : 'unexpected'
    send({ id, error: { code, message: messageOf(error) } })
  }
}

type Call = z.infer<typeof callSchema>['call']

async function run(call: Call): Promise<unknown> {
  switch (call.name) {
    case 'submit': {
      const body = { item_type: 'errand', name: call.item, text: call.text }
      const { outcome, item } = await queue.submit('errand', body, CALLER)
      return { outcome, id: item.id }
    }
    case 'ingest': {
      const eventAt = new Date(call.eventAt)
      return queue.ingest({ eventType: 'ping', eventAt, sourceId: call.event.id, body: call.event })
    }
    case 'retry':
      return (await queue.retry(call.id, CALLER)).phase
    case 'cancel':
      return (await queue.cancel(call.id, CALLER)).phase
    case 'exhaust': {
      const seconds = call.milliseconds / 1_000
      const sleepers = Array.from({ length: options.maxConnections }, () =>
        sql`select pg_sleep(${seconds})`.execute(db),
      )
      return (await Promise.allSettled(sleepers)).length
    }
    case 'listening':
      return (await admin.status(['errand'])).process.listening
  }
}

function send(reply: Reply): void {
  if (process.connected) process.send?.(reply)
}

async function terminate(): Promise<void> {
  await stop()
  await db.destroy()
  process.exit(0)
}

process.once('SIGTERM', () => void terminate())
// A parent that died must not leave its workers behind.
process.once('disconnect', () => process.exit(1))
process.on('message', (message) => void answer(message))
if (options.works) await start()
send({ id: 0, value: 'ready' })
