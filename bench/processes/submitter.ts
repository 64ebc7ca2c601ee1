/** A busy process of the product: it accepts submissions as fast as it can, and its only worker is held. */
import { z } from 'zod'
import { serveParent } from '../support/process.ts'
import { ITEM_TYPE, newSubmission, openBusyQueue } from '../support/product.ts'
import { rateOf } from '../support/statistics.ts'

const optionsSchema = z.object({ url: z.string(), wakeUps: z.boolean() })
const loadSchema = z.object({ count: z.int(), concurrency: z.int() })

await serveParent(optionsSchema, async ({ url, wakeUps }) => {
  const { queue, stop } = await openBusyQueue(url, { wakeUps })
  return {
    async submit(argument) {
      const { count, concurrency } = loadSchema.parse(argument)
      return rateOf(count, concurrency, () => queue.submit(ITEM_TYPE, newSubmission(), 'bench'))
    },
    stop,
  }
})
