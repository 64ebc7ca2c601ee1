/**
 * P12: what a page of the list costs PostgreSQL with a million items, whatever it is narrowed to and however deep it lies, and
 * what an item with all that is known of it costs. The statements are those that the queue really sends, caught at the driver and
 * explained. A text that few items hold takes several pages; how many until the end, and how long, is said beside it.
 */
import pg from 'pg'
import type { ListFilter, WorkQueue } from '../../src/queue/work-queue.ts'
import type { Bench, Goal } from '../support/bench.ts'
import { planAndRun } from '../support/explain.ts'
import { ITEM_TYPE, openQueue } from '../support/product.ts'
import { watchStatements } from '../support/statements.ts'
import { percentile } from '../support/statistics.ts'

const LIMIT = 50
const BATCH = 10_000
const MOST_MS = 10
const PAGES = 40

export const p12: Goal = {
  id: 'P12',
  async run(bench) {
    const total = bench.quick ? 40_000 : 1_000_000
    const client = new pg.Client({ connectionString: bench.url })
    await client.connect()
    const open = openQueue(bench.url, { quiet: true })
    try {
      for (let from = 1; from <= total; from += BATCH) await client.query(FILL, [from, from + BATCH - 1, total])
      await client.query('vacuum analyze')
      const ids = await everyNthId(client, total)
      for (const [part, filter] of PARTS) await measure(bench, client, part, cursors(ids, filter), open.queue)
      const get = ids.map((id) => () => open.queue.get(id))
      await measureCalls(bench, client, 'one item', get, {})
    } finally {
      await open.stop()
      await client.end()
    }
  },
}

/**
 * Half a percent have failed, the oldest tenth belongs to a caller and a key that have long been gone, and one item in ten
 * thousand has a word in its key that no other has. The newest twentieth waits, what is older has ended.
 */
const FILL = `
  with made as (
    select n, ('01890000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id,
           case when n % 200 = 0 then 'failed' when n > $3 * 0.95 then 'active' else 'completed' end as phase,
           n <= $3 * 0.1 as is_old
    from generate_series($1::integer, $2::integer) n
  ),
  items as (
    insert into work_items
      (id, item_type, phase, resolution, ended_at, dedup_key, content_hash, caller_identity, concurrency_key)
    select id, '${ITEM_TYPE}', phase, case when phase <> 'active' then 'done' end, case when phase <> 'active' then now() end,
           '${ITEM_TYPE}:group-' || n % 20 || '/project-' || n % 400 || ':bot/' || case when n % 10000 = 7 then 'rare-' else 'update-' end || n,
           '', case when is_old then 'gone' else 'caller-' || n % 50 end,
           case when is_old then 'attic' else 'group-' || n % 20 || '/project-' || n % 400 end
    from made
    returning id
  ),
  dimensions as (
    insert into work_item_statuses (work_item_id, dimension, status)
    select id, 'needs_run', 'false' from items
  )
  insert into bench_details (work_item_id, key, stamp, text)
  select id, id::text, '', '' from items`

type Filter = Omit<ListFilter, 'limit' | 'before'>

const PARTS: readonly (readonly [string, Filter])[] = [
  ['list', {}],
  ['phase', { phase: 'failed' }],
  ['caller', { callerIdentity: 'caller-7' }],
  ['caller and phase', { callerIdentity: 'gone', phase: 'failed' }],
  ['key', { concurrencyKeys: ['attic'] }],
  ['key and phase', { concurrencyKeys: ['group-3/project-3'], phase: 'failed' }],
  ['caller and key', { callerIdentity: 'caller-3', concurrencyKeys: ['group-3/project-3'] }],
  ['text that is common', { search: 'PROJECT-1' }],
  ['text that is rare', { search: 'rare-' }],
  ['text that is nowhere', { search: 'nowhere' }],
]

async function everyNthId(client: pg.Client, total: number): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select ('01890000-0000-7000-8000-' || lpad(to_hex(n), 12, '0')) as id from generate_series(1, $1::integer, $2::integer) n`,
    [total, Math.floor(total / PAGES)],
  )
  return rows.map(({ id }) => id)
}

/** The first page, and pages that begin anywhere. */
function cursors(ids: readonly string[], filter: Filter): readonly ListFilter[] {
  return [{ ...filter, limit: LIMIT }, ...ids.map((before) => ({ ...filter, before, limit: LIMIT }))]
}

async function measure(bench: Bench, client: pg.Client, part: string, pages: readonly ListFilter[], queue: WorkQueue) {
  const calls = pages.map((page) => () => queue.list(page))
  const [first] = pages
  const extra = part.startsWith('text') && first !== undefined ? await walk(queue, first) : {}
  await measureCalls(bench, client, part, calls, extra)
}

/** From the first page to the last. */
async function walk(queue: WorkQueue, filter: ListFilter): Promise<object> {
  const startedAt = performance.now()
  let pages = 0
  let items = 0
  let next: string | null = null
  do {
    const page = await queue.list({ ...filter, ...(next === null ? {} : { before: next }) })
    next = page.next
    items += page.items.length
    pages += 1
  } while (next !== null && (items < LIMIT || items === 0))
  const ms = Math.round(performance.now() - startedAt)
  return { until_a_page_is_full: { pages, items, ms } }
}

async function measureCalls(
  bench: Bench,
  client: pg.Client,
  part: string,
  calls: readonly (() => Promise<unknown>)[],
  extra: object,
): Promise<void> {
  const costs: number[] = []
  for (const call of calls) costs.push(await costOf(client, call))
  bench.report({
    part: `${part}, p95`,
    unit: 'ms',
    figures: [percentile(costs, 0.95)],
    target: { atMost: MOST_MS },
    extra: { calls: costs.length, p50: percentile(costs, 0.5), ...extra },
  })
}

/** Milliseconds of planning and running all that one call sends. */
async function costOf(client: pg.Client, call: () => Promise<unknown>): Promise<number> {
  const statements: { readonly text: string; readonly values: readonly unknown[] }[] = []
  const stop = watchStatements((text, values) => statements.push({ text, values }))
  await call().finally(stop)
  let ms = 0
  for (const { text, values } of statements) ms += await planAndRun(client, text, values)
  return ms
}
