/** What PostgreSQL says a statement costs: pages it touched and milliseconds it took, the median of a few runs. */
import type pg from 'pg'
import { z } from 'zod'
import { median } from './statistics.ts'

const RUNS = 21
/** A slow statement is not run again and again: it scatters less. */
const LONG_ENOUGH_MS = 2_000

export interface StatementCost {
  readonly pages: number
  readonly ms: number
}

const planSchema = z.tuple([
  z.object({
    'QUERY PLAN': z.tuple([
      z.object({
        Plan: z.object({ 'Shared Hit Blocks': z.number(), 'Shared Read Blocks': z.number() }),
        'Planning Time': z.number(),
        'Execution Time': z.number(),
      }),
    ]),
  }),
])

export async function explain(client: pg.Client, text: string, values: readonly unknown[]): Promise<StatementCost> {
  const costs: StatementCost[] = []
  const startedAt = performance.now()
  // The first run reads from disk and is not counted.
  for (let run = 0; run <= RUNS; run += 1) {
    if (run > 1 && performance.now() - startedAt > LONG_ENOUGH_MS) break
    const { rows } = await client.query(`explain (analyze, buffers, timing off, format json) ${text}`, [...values])
    const [{ 'QUERY PLAN': plans }] = planSchema.parse(rows)
    const [{ Plan: plan, 'Execution Time': ms }] = plans
    if (run > 0) costs.push({ pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], ms })
  }
  return { pages: median(costs.map(({ pages }) => pages)), ms: median(costs.map(({ ms }) => ms)) }
}

/** Milliseconds that one run takes, its planning included. */
export async function planAndRun(client: pg.Client, text: string, values: readonly unknown[]): Promise<number> {
  const { rows } = await client.query(`explain (analyze, buffers, timing off, format json) ${text}`, [...values])
  const [{ 'QUERY PLAN': plans }] = planSchema.parse(rows)
  return plans[0]['Planning Time'] + plans[0]['Execution Time']
}
