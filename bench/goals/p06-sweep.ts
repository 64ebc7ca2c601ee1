/**
 * P6: what the sweep costs when nothing is due and a million items wait. The statement is the one that a started queue really
 * sends, caught at the driver; against it stands the obvious query that says the same in one condition.
 */
import pg from 'pg'
import type { Goal } from '../support/bench.ts'
import { explain } from '../support/explain.ts'
import { fillIdleItems, fillItems, ITEM_TYPE, isSweep, openQueue } from '../support/product.ts'
import { watchStatements } from '../support/statements.ts'

const SMALL = 10_000
const CATCH_TIMEOUT_MS = 20_000
const MAX_PAGES = 30

const ONE_CONDITION = `
  select id
  from work_items item
  where phase = 'active'
    and item_type = any($1)
    and (leased_until is null or leased_until < now())
    and (
      (actionable and coalesce(retry_at, created_at) <= now())
      or exists (select from pending_events event where event.work_item_id = item.id and not dead)
      or exists (
        select from work_item_statuses dimension
        where dimension.work_item_id = item.id and status = 'true' and pending_until <= now()
      )
    )
  limit 10`

interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

export const p6: Goal = {
  id: 'P6',
  async run(bench) {
    const total = bench.quick ? 40_000 : 1_000_000
    const client = new pg.Client({ connectionString: bench.url })
    await client.connect()
    try {
      const sweep = await catchSweep(bench.url)
      await fillItems(client, SMALL / 2, 'idle')
      // A plan that only statistics make good is a bad one until they come.
      const unknown = await explain(client, sweep.text, sweep.values)
      await fillIdleItems(client, SMALL / 2)
      const small = await explain(client, sweep.text, sweep.values)
      await fillIdleItems(client, total - SMALL)
      const large = await explain(client, sweep.text, sweep.values)
      const oneCondition = await explain(client, ONE_CONDITION, [[ITEM_TYPE]])
      const extra = { items: total }
      bench.report({
        part: 'pages',
        unit: 'pages',
        figures: [large.pages],
        target: { atMost: MAX_PAGES },
        extra: { ...extra, one_condition: oneCondition.pages, before_the_first_analyze: unknown.pages },
      })
      bench.report({
        part: 'time, nothing due',
        unit: 'ms',
        figures: [large.ms],
        reference: { name: 'one-condition query', figures: [oneCondition.ms] },
        target: { atMost: 0.01 },
        extra,
      })
      bench.report({
        part: 'time, against 10,000 items',
        unit: 'ms',
        figures: [large.ms],
        reference: { name: 'the same at 10,000 items', figures: [small.ms] },
        target: { atMost: 1.3 },
        extra: { ...extra, pages: large.pages, reference_pages: small.pages },
      })
    } finally {
      await client.end()
    }
  },
}

/** The statement with which a queue that has just started looks for due work. */
async function catchSweep(url: string): Promise<Statement> {
  const { promise: caught, resolve, reject } = Promise.withResolvers<Statement>()
  const timer = setTimeout(() => reject(new Error('no sweep was seen')), CATCH_TIMEOUT_MS)
  const stopWatching = watchStatements((text, values) => {
    if (isSweep(text)) resolve({ text, values })
  })
  const open = openQueue(url)
  try {
    await open.start()
    return await caught
  } finally {
    clearTimeout(timer)
    stopWatching()
    await open.stop()
  }
}
