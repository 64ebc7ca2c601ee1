/**
 * P4: how long an idle worker leaves a new item lying, from before the submission until its action begins, with the worker
 * in another process (the submitting one is busy) and in the same one.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { Bench, Goal } from '../support/bench.ts'
import type { Contender } from '../support/contender.ts'
import { begin, startWorker } from '../support/drain.ts'
import { graphileWorker } from '../support/graphile-worker.ts'
import { product } from '../support/product.ts'
import { interleave, monotonicMs, percentile } from '../support/statistics.ts'

const WARM_UP = 10
/** Time for the worker to become idle, and its listener to listen. */
const SETTLE_MS = 1_500
const QUICK_SETTLE_MS = 700
const GAP_MS = 15
/** A queue that has to be looked for by polling would take minutes; so many samples will do. */
const LIMIT_MS = 60_000
const QUICK_LIMIT_MS = 6_000

export const p4: Goal = {
  id: 'P4',
  async run(bench) {
    await graphileWorker.prepare(bench.url)
    const waits = await interleave(bench.rounds, {
      product: () => elsewhere(bench, product),
      reference: () => elsewhere(bench, graphileWorker),
      productHere: () => here(bench, product),
      referenceHere: () => here(bench, graphileWorker),
    })
    const part = (name: string, samples: number[][], against: number[][], share: number, atMost: number) =>
      bench.report({
        part: name,
        unit: 'ms',
        figures: samples.map((round) => percentile(round, share)),
        reference: { name: graphileWorker.name, figures: against.map((round) => percentile(round, share)) },
        target: { atMost },
        extra: { samples: samples.flat().length },
      })
    part('another process, p50', waits.product, waits.reference, 0.5, 1)
    part('another process, p99', waits.product, waits.reference, 0.99, 0.7)
    part('same process, p50', waits.productHere, waits.referenceHere, 0.5, 0.8)
  },
}

async function elsewhere(bench: Bench, contender: Contender): Promise<number[]> {
  const producer = await contender.connect(bench.url)
  await producer.clear()
  // Opens what the producer needs; with no stamp it is no sample.
  await producer.submit('')
  const worker = await startWorker(contender, bench.url)
  try {
    await begin(worker)
    return await sample(bench, async () => {
      await producer.submit(String(monotonicMs()))
      return worker.ask('pickup', z.number())
    })
  } finally {
    await worker.stop()
    await producer.close()
  }
}

async function here(bench: Bench, contender: Contender): Promise<number[]> {
  const producer = await contender.connect(bench.url)
  await producer.clear()
  await producer.close()
  const worker = await startWorker(contender, bench.url)
  try {
    await begin(worker)
    return await sample(bench, () => worker.ask('ownPickup', z.number()))
  } finally {
    await worker.stop()
  }
}

async function sample(bench: Bench, measure: () => Promise<number>): Promise<number[]> {
  const count = bench.quick ? 40 : 300
  const until = monotonicMs() + (bench.quick ? QUICK_LIMIT_MS : LIMIT_MS)
  await delay(bench.quick ? QUICK_SETTLE_MS : SETTLE_MS)
  const waits: number[] = []
  for (let done = 0; done < WARM_UP + count && (done === 0 || monotonicMs() < until); done += 1) {
    waits.push(await measure())
    // Irregular, so that no poll of anybody falls into step.
    await delay(GAP_MS + Math.random() * 20)
  }
  return waits.length > 2 * WARM_UP ? waits.slice(WARM_UP) : waits
}
