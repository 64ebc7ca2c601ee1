/**
 * A process of the product under everything at once: new submissions, the same ones again, changed ones, events, cancels and
 * lists, at a fixed rate whatever the answers take. It tells how its memory and its answer times went.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { serveParent } from '../support/process.ts'
import { ITEM_TYPE, newSubmission, openQueue } from '../support/product.ts'
import { percentile } from '../support/statistics.ts'

const TICK_MS = 50
const SUBMISSIONS_PER_TICK = 5
const REMEMBERED = 200
const CALLER = 'bench'
/** Ends take a moment, so an item may be gone when its cancel comes. */
const EXPECTED = ['not_cancellable', 'work_item_not_found']

await serveParent(z.object({ url: z.string() }), async ({ url }) => {
  const { queue, start: begin, stop } = openQueue(url, { jobMs: 5 })
  await begin()
  let failures = 0

  const attempt = (work: Promise<unknown>) =>
    work.catch((error: unknown) => {
      const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
      if (!EXPECTED.includes(code)) failures += 1
    })

  /** For so many seconds; the samples of each second. */
  async function run(seconds: number) {
    const memory: number[] = []
    const answerTimes: number[][] = []
    const recent: ReturnType<typeof newSubmission>[] = []
    const begun = new Set<Promise<unknown>>()
    const start = (work: Promise<unknown>) => {
      const ended = attempt(work).finally(() => begun.delete(ended))
      begun.add(ended)
    }
    const startedAt = performance.now()
    for (let tick = 0; tick * TICK_MS < seconds * 1_000; tick += 1) {
      const second = Math.floor((tick * TICK_MS) / 1_000)
      answerTimes[second] ??= []
      memory[second] ??= process.memoryUsage.rss()
      for (let made = 0; made < SUBMISSIONS_PER_TICK; made += 1) {
        const submission = newSubmission()
        recent.push(submission)
        const sentAt = performance.now()
        const sent = queue.submit(ITEM_TYPE, submission, CALLER)
        start(sent.then(() => answerTimes[second]?.push(performance.now() - sentAt)))
      }
      const known = recent[0]
      if (known !== undefined) {
        start(queue.submit(ITEM_TYPE, known, CALLER))
        start(
          queue
            .submit(ITEM_TYPE, { ...known, text: `changed in ${tick}` }, CALLER)
            .then(({ item }) => queue.cancel(item.id, CALLER)),
        )
        start(queue.ingest({ eventType: 'ping', eventAt: new Date(), sourceId: null, body: { key: known.key } }))
      }
      if (tick % 10 === 0) start(queue.list({ limit: 20 }))
      if (recent.length > REMEMBERED) recent.splice(0, SUBMISSIONS_PER_TICK)
      await delay(Math.max(0, startedAt + (tick + 1) * TICK_MS - performance.now()))
    }
    await Promise.all(begun)
    return { memory, p99: answerTimes.map((times) => percentile(times, 0.99)), failures }
  }

  return { run: async (seconds) => run(z.number().parse(seconds)), stop }
})
