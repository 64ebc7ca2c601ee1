/**
 * P1: how many submissions a second one process accepts over REST from 20 connections, and how long the slowest hundredth
 * waits, against the bare minimum that a whole item costs. Server and load run in processes of their own. The accepting
 * process works on nothing here, as the floor does not either; what is left when it also works is told beside it.
 */
import { z } from 'zod'
import type { Bench, Goal } from '../support/bench.ts'
import { insertLimit } from '../support/pgbench.ts'
import { startProcess } from '../support/process.ts'
import { stretch } from '../support/result.ts'
import { interleave, median, rounded } from '../support/statistics.ts'

const CONNECTIONS = 20

const targetSchema = z.object({ url: z.string(), token: z.string() })
const loadSchema = z.object({ perSecond: z.number(), p50: z.number(), p99: z.number(), refused: z.number() })
type Load = z.infer<typeof loadSchema>

export const p1: Goal = {
  id: 'P1',
  async run(bench) {
    const limit = await insertLimit(bench.url)
    const seconds = bench.quick ? 2 : 6
    const measured = await interleave<'insert' | 'floor' | 'product' | 'working', Load>(bench.rounds, {
      insert: async () => {
        const perSecond = await limit.measure(CONNECTIONS, seconds)
        return { perSecond, p50: 0, p99: 0, refused: 0 }
      },
      floor: () => loadServer(bench, 'whole-item-floor', { url: bench.url }),
      product: () => loadServer(bench, 'api', { url: bench.url, works: false }),
      working: () => loadServer(bench, 'api', { url: bench.url, works: true }),
    })
    const rates = (loads: readonly Load[]) => loads.map(({ perSecond }) => perSecond)
    const slowest = (loads: readonly Load[]) => loads.map(({ p99 }) => p99)
    const { insert, floor, product, working } = measured
    bench.report({
      part: 'submit',
      unit: '1/s',
      figures: rates(product),
      reference: { name: 'whole-item floor', figures: rates(floor) },
      target: { atLeast: 1 },
      extra: {
        stretch: stretch(rates(product), { name: limit.name, figures: rates(insert) }, { atLeast: 0.5 }),
        while_working: rounded(median(rates(working))),
        refused: product.reduce((sum, { refused }) => sum + refused, 0),
      },
    })
    bench.report({
      part: 'submit p99',
      unit: 'ms',
      figures: slowest(product),
      reference: { name: 'whole-item floor', figures: slowest(floor) },
      target: { atMost: 1.5 },
      extra: {
        p50: rounded(median(product.map(({ p50 }) => p50))),
        reference_p50: rounded(median(floor.map(({ p50 }) => p50))),
        while_working: rounded(median(slowest(working))),
      },
    })
  },
}

async function loadServer(bench: Bench, name: string, options: object): Promise<Load> {
  const server = await startProcess(name, options)
  try {
    const target = await server.ask('target', targetSchema)
    const client = await startProcess('load', { ...target, connections: CONNECTIONS })
    try {
      await client.ask('load', loadSchema, bench.quick ? 0.5 : 2)
      return await client.ask('load', loadSchema, bench.quick ? 2 : 6)
    } finally {
      await client.stop()
    }
  } finally {
    await server.stop()
  }
}
