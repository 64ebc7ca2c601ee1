/** A working process of any contender: counts its jobs, and tells how long each had waited. */
import { z } from 'zod'
import type { Worker } from '../support/contender.ts'
import { contenderNamed } from '../support/contenders.ts'
import { serveParent } from '../support/process.ts'
import { countStatements } from '../support/statements.ts'
import { monotonicMs } from '../support/statistics.ts'

const optionsSchema = z.object({
  contender: z.string(),
  url: z.string(),
  concurrency: z.int(),
  jobMs: z.number().default(0),
  /** Counting is off where speed is measured. */
  countStatements: z.boolean().default(false),
})

await serveParent(optionsSchema, async ({ contender, url, concurrency, jobMs, ...options }) => {
  const counter = options.countStatements ? countStatements() : null
  let jobs = 0
  let firstAt: number | null = null
  const waits: number[] = []
  let taker: ((waitedMs: number) => void) | null = null
  let worker: Worker | null = null

  function onJob(stamp: string): void {
    const now = monotonicMs()
    jobs += 1
    firstAt ??= now
    if (stamp === '') return
    const waitedMs = now - Number(stamp)
    if (taker === null) waits.push(waitedMs)
    else taker(waitedMs)
    taker = null
  }

  async function nextPickup(): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>()
    const early = waits.shift()
    if (early !== undefined) return early
    taker = resolve
    return promise
  }

  return {
    async start() {
      worker = await contenderNamed(contender).work(url, { concurrency, jobMs, onJob })
    },
    count: async () => ({ jobs, firstAt }),
    statements: async () => counter?.statements ?? 0,
    /** How long the next job with a stamp had waited since then; each is told once. */
    pickup: nextPickup,
    /** The same for a job that this process hands in itself. */
    async ownPickup() {
      await worker?.submit(String(monotonicMs()))
      return nextPickup()
    },
    async stop() {
      await worker?.stop()
    },
  }
})
