/**
 * The way in for events, in a process of its own: the real consumer of an SQS queue and the real webhook, audit and log as in
 * production. It works on nothing: what is measured is taking events in.
 */
import { z } from 'zod'
import { createApi } from '../../src/api/server.ts'
import { createAuthenticator } from '../../src/auth/authenticator.ts'
import { authConfigSchema } from '../../src/auth/config.ts'
import { newToken } from '../../src/auth/token.ts'
import { eventsConfigSchema } from '../../src/events/config.ts'
import { createSqsConsumer } from '../../src/events/sqs-consumer.ts'
import { createEventCounts } from '../../src/lib/event-counts.ts'
import { serveParent } from '../support/process.ts'
import { openQueue } from '../support/product.ts'

const optionsSchema = z.object({
  url: z.string(),
  sqs: z.object({
    queueUrl: z.string(),
    connection: z.object({
      region: z.string(),
      credentials: z.object({ accessKeyId: z.string(), secretAccessKey: z.string() }),
    }),
  }),
  receivers: z.int(),
})
const SECRET = 'a-secret-of-the-benchmark'
const BATCH = 10
const directSchema = z.object({ seconds: z.number(), keys: z.array(z.string()) })

await serveParent(optionsSchema, async ({ url, sqs, receivers }) => {
  const { queue, admin, pauses, audit, log, stop } = openQueue(url)
  const counts = createEventCounts()
  const { sha256 } = newToken()
  const api = await createApi({
    ...{ queue, admin, pauses, audit, log, counts },
    authenticator: createAuthenticator(
      authConfigSchema.parse({ rules: [{ name: 'bench', token_sha256: sha256, permissions: ['read'] }] }),
    ),
    webhook: { secret: SECRET },
    ready: async () => ({ database: 'ok' }),
    version: '0.0.0-bench',
    metrics: null,
  })
  const address = await api.listen({ host: '127.0.0.1', port: 0 })
  const consumer = createSqsConsumer({
    ...{ queue, counts, log, connection: sqs.connection },
    config: eventsConfigSchema.parse({ queue_url: sqs.queueUrl, receivers }),
  })

  /** The same batches, handed over without SQS in between: what is left is resolving and storing. */
  async function direct({ seconds, keys }: z.infer<typeof directSchema>): Promise<number> {
    const until = performance.now() + seconds * 1_000
    let made = 0
    const lane = async () => {
      while (performance.now() < until) {
        const events = Array.from({ length: BATCH }, () => {
          made += 1
          const body = { object_kind: 'pipeline', key: keys[made % keys.length] }
          return { eventType: 'pipeline', eventAt: new Date(), body, sourceId: `direct-${made}` }
        })
        await queue.ingestAll(events)
      }
    }
    const startedAt = performance.now()
    await Promise.all(Array.from({ length: receivers }, lane))
    return (made * 1_000) / (performance.now() - startedAt)
  }

  return {
    target: async () => ({ url: `${address}/api/v1/webhooks/gitlab`, token: SECRET }),
    start: async () => consumer.start(),
    received: async () => counts.read().received_sqs,
    direct: (argument) => direct(directSchema.parse(argument)),
    async stop() {
      await consumer.stop()
      await api.close()
      await stop()
    },
  }
})
