/** SNS and SQS in a process of its own, so that what they cost falls on nobody else. */
import { z } from 'zod'
import { startEventStream } from '../../sandbox/events/event-stream.ts'
import { serveParent } from '../support/process.ts'

const fillSchema = z.object({ count: z.int(), keys: z.array(z.string()) })

await serveParent(z.object({}), async () => {
  const stream = await startEventStream()
  let made = 0
  return {
    where: async () => ({ queueUrl: stream.queueUrl, connection: stream.connection }),
    async fill(argument) {
      const { count, keys } = fillSchema.parse(argument)
      for (let filled = 0; filled < count; filled += 1) {
        made += 1
        stream.publish(JSON.stringify({ object_kind: 'pipeline', key: keys[made % keys.length] }))
      }
    },
    async left() {
      const { ready, inFlight } = stream.depth()
      return ready + inFlight
    },
    stop: () => stream.stop(),
  }
})
