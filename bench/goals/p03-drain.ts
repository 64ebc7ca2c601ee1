/**
 * P3: how fast one process with ten workers gets through a backlog. The product is measured as it is configured by default,
 * where it groups by itself what is there at the same time, against a queue that takes jobs one by one and against one that
 * is tuned for batches.
 */
import type { Goal } from '../support/bench.ts'
import { drain } from '../support/drain.ts'
import { graphileWorker } from '../support/graphile-worker.ts'
import { pgBoss } from '../support/pg-boss.ts'
import { product } from '../support/product.ts'
import { interleave } from '../support/statistics.ts'

export const p3: Goal = {
  id: 'P3',
  async run(bench) {
    const count = bench.quick ? 2_000 : 20_000
    for (const reference of [graphileWorker, pgBoss]) await reference.prepare(bench.url)
    const rates = await interleave(bench.rounds, {
      product: () => drain(product, bench.url, { count }),
      oneByOne: () => drain(graphileWorker, bench.url, { count }),
      batched: () => drain(pgBoss, bench.url, { count }),
    })
    bench.report({
      part: 'one by one',
      unit: '1/s',
      figures: rates.product,
      reference: { name: 'graphile-worker, one by one', figures: rates.oneByOne },
      target: { atLeast: 1.5 },
      extra: { count },
    })
    bench.report({
      part: 'grouped',
      unit: '1/s',
      figures: rates.product,
      reference: { name: 'pg-boss, batches of 500', figures: rates.batched },
      target: { atLeast: 0.5 },
      extra: { count },
    })
    bench.skip('stretch: BullMQ on Redis', 'BullMQ and Redis are not part of this project')
  },
}
