/**
 * P10: what a process costs that has nothing to do, however many items wait, and whether one that has much to do stays as it
 * is: its memory, its answer times, the dead rows it leaves.
 */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { z } from 'zod'
import type { Bench, Goal } from '../support/bench.ts'
import { begin, startWorker } from '../support/drain.ts'
import { startProcess } from '../support/process.ts'
import { fillIdleItems, product } from '../support/product.ts'
import { median } from '../support/statistics.ts'

const IDLE_ITEMS = 100_000
const QUICK_IDLE_ITEMS = 10_000
/** Where the samples are taken that are compared: the first part is left out, since the process is still warming up. */
const PARTS = 10
/** Autovacuum comes when more than a fifth is dead, and not at once. */
const DEAD_SHARE = 0.5

const runSchema = z.object({ memory: z.array(z.number()), p99: z.array(z.number()), failures: z.number() })

export const p10: Goal = {
  id: 'P10',
  async run(bench) {
    const client = new pg.Client({ connectionString: bench.url })
    await client.connect()
    try {
      const none = await idleStatements(bench)
      const items = bench.quick ? QUICK_IDLE_ITEMS : IDLE_ITEMS
      await fillIdleItems(client, items)
      const many = await idleStatements(bench)
      bench.report({
        part: 'idle process',
        unit: 'statements/s',
        figures: [many],
        target: { atMost: 2 },
        extra: { items, without_items: none },
      })
      await client.query('truncate work_items cascade')
      await mixedLoad(bench, client)
    } finally {
      await client.end()
    }
  },
}

async function idleStatements(bench: Bench): Promise<number> {
  const [settleMs, seconds] = bench.quick ? [1_000, 4] : [2_000, 30]
  const worker = await startWorker(product, bench.url, { countStatements: true })
  try {
    await begin(worker)
    await delay(settleMs)
    const before = await worker.ask('statements', z.number())
    await delay(seconds * 1_000)
    return ((await worker.ask('statements', z.number())) - before) / seconds
  } finally {
    await worker.stop()
  }
}

async function mixedLoad(bench: Bench, client: pg.Client): Promise<void> {
  const seconds = bench.quick ? 30 : 600
  const worker = await startProcess('mixed', { url: bench.url })
  try {
    const { memory, p99, failures } = await worker.ask('run', runSchema, seconds)
    const extra = { seconds, failures }
    bench.report({
      part: 'memory, last tenth',
      unit: 'MiB',
      figures: [median(part(memory, PARTS - 1)) / 2 ** 20],
      reference: { name: 'second tenth', figures: [median(part(memory, 1)) / 2 ** 20] },
      target: { atMost: 1.1 },
      extra,
    })
    bench.report({
      part: 'submit p99, last tenth',
      unit: 'ms',
      figures: [median(part(p99, PARTS - 1))],
      reference: { name: 'second tenth', figures: [median(part(p99, 1))] },
      target: { atMost: 1.3 },
      extra,
    })
    if (bench.quick) bench.skip('dead rows', 'autovacuum does not come within seconds')
    else await reportDeadRows(bench, client)
  } finally {
    await worker.stop()
  }
}

function part(samples: readonly number[], index: number): readonly number[] {
  const size = Math.floor(samples.length / PARTS)
  return samples.slice(index * size, (index + 1) * size)
}

async function reportDeadRows(bench: Bench, client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ relname: string; dead: number; live: number }>(`
    select relname, n_dead_tup::float8 as dead, n_live_tup::float8 as live
    from pg_stat_user_tables
    where relname in ('work_items', 'work_item_statuses', 'pending_events', 'bench_details')`)
  const items = rows.find(({ relname }) => relname === 'work_items')
  bench.report({
    part: 'dead rows',
    unit: 'rows',
    figures: [rows.reduce((sum, { dead }) => sum + dead, 0)],
    reference: { name: 'items', figures: [items?.live ?? 0] },
    target: { atMost: DEAD_SHARE },
    extra: { by_table: Object.fromEntries(rows.map(({ relname, dead }) => [relname, dead])) },
  })
}
