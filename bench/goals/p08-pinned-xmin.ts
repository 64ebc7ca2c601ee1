/**
 * P8: a forgotten transaction somewhere else keeps vacuum from removing anything, so that dead rows pile up under the queue.
 * A steady load is worked off with and without such a transaction, for as long, and the rate must not sag.
 */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Bench, Goal } from '../support/bench.ts'
import type { Producer } from '../support/contender.ts'
import { begin, countJobs, startWorker } from '../support/drain.ts'
import type { BenchProcess } from '../support/process.ts'
import { product } from '../support/product.ts'
import { interleave, median, monotonicMs, rounded } from '../support/statistics.ts'

const WINDOWS = 8
const WARM_UP_MS = 3_000
const PRODUCERS = 2
const BATCH = 50
/** Enough that no worker ever waits, little enough that the backlog itself is no load. */
const MAX_BACKLOG = 2_000
const LOOK_MS = 50

export const p8: Goal = {
  id: 'P8',
  async run(bench) {
    const rates = await interleave(bench.rounds, {
      pinned: () => steadyLoad(bench, true),
      free: () => steadyLoad(bench, false),
    })
    const medians = (rounds: readonly number[][]) => rounds.map(median)
    bench.report({
      part: 'rate with xmin pinned',
      unit: '1/s',
      figures: medians(rates.pinned),
      reference: { name: 'the same unpinned', figures: medians(rates.free) },
      target: { atLeast: 0.8 },
      extra: { windows: rates.pinned.map((windows) => windows.map(rounded)) },
    })
    bench.report({
      part: 'last window with xmin pinned',
      unit: '1/s',
      figures: rates.pinned.map((windows) => windows.at(-1) ?? 0),
      reference: { name: 'first window', figures: rates.pinned.map((windows) => windows[0] ?? 0) },
      target: { atLeast: 0.8 },
    })
  },
}

/** Jobs a second in each of a few windows of the same length. */
async function steadyLoad(bench: Bench, pinned: boolean): Promise<number[]> {
  const producer = await product.connect(bench.url)
  const holder = new pg.Client({ connectionString: bench.url })
  await holder.connect()
  await producer.clear()
  const worker = await startWorker(product, bench.url)
  try {
    await begin(worker)
    const load = produce(producer, worker)
    await delay(bench.quick ? WARM_UP_MS / 3 : WARM_UP_MS)
    if (pinned) await pinXmin(holder)
    const windowMs = (bench.quick ? 10_000 : 40_000) / WINDOWS
    const windows: number[] = []
    for (let window = 0; window < WINDOWS; window += 1) windows.push(await rateWithin(worker, windowMs))
    await load.stop()
    return windows
  } finally {
    await worker.stop()
    await holder.end()
    await producer.close()
  }
}

async function pinXmin(holder: pg.Client): Promise<void> {
  await holder.query('begin isolation level repeatable read')
  await holder.query('select count(*) from work_items')
}

async function rateWithin(worker: BenchProcess, milliseconds: number): Promise<number> {
  const startedAt = monotonicMs()
  const { jobs: before } = await countJobs([worker])
  await delay(milliseconds)
  const { jobs: after } = await countJobs([worker])
  return ((after - before) * 1_000) / (monotonicMs() - startedAt)
}

/** Keeps the worker supplied. */
function produce(producer: Producer, worker: BenchProcess): { stop(): Promise<void> } {
  let handedIn = 0
  let stopped = false
  const lane = async () => {
    while (!stopped) {
      const { jobs } = await countJobs([worker])
      if (handedIn - jobs >= MAX_BACKLOG) {
        await delay(LOOK_MS)
        continue
      }
      handedIn += BATCH
      await producer.fill(BATCH)
    }
  }
  const lanes = Promise.all(Array.from({ length: PRODUCERS }, lane))
  return {
    async stop() {
      stopped = true
      await lanes
    },
  }
}
