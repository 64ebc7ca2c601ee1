/**
 * P9: more processes on one database. Where the work itself takes time they must add up; where it takes none, PostgreSQL is
 * the limit, and they must at least not stand in each other's way.
 */
import type { Goal } from '../support/bench.ts'
import { drain } from '../support/drain.ts'
import { product } from '../support/product.ts'
import { interleave } from '../support/statistics.ts'

const JOB_MS = 20

export const p9: Goal = {
  id: 'P9',
  async run(bench) {
    const slow = { count: bench.quick ? 600 : 12_000, jobMs: JOB_MS }
    const quick = { count: bench.quick ? 1_500 : 20_000 }
    const rates = await interleave(bench.rounds, {
      slowOne: () => drain(product, bench.url, { ...slow, processes: 1 }),
      slowFour: () => drain(product, bench.url, { ...slow, processes: 4 }),
      one: () => drain(product, bench.url, { ...quick, processes: 1 }),
      two: () => drain(product, bench.url, { ...quick, processes: 2 }),
      four: () => drain(product, bench.url, { ...quick, processes: 4 }),
    })
    bench.report({
      part: 'four processes, 20 ms a job',
      unit: '1/s',
      figures: rates.slowFour,
      reference: { name: 'one process', figures: rates.slowOne },
      target: { atLeast: 3.5 },
    })
    bench.report({
      part: 'four processes, no-op',
      unit: '1/s',
      figures: rates.four,
      reference: {
        name: 'the better of one and two',
        figures: rates.one.map((rate, round) => Math.max(rate, rates.two[round] ?? 0)),
      },
      target: { atLeast: 0.9 },
    })
  },
}
