/** Lists over more items than one page may look at. Their plans are those of the statements that the queue really sends. */
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { watchStatements } from '../../bench/support/statements.ts'
import { createErrandQueues, type ErrandQueues } from '../../test/support/errand-queues.ts'
import { createErrandType } from '../../test/support/errand-type.ts'
import type { ListFilter, WorkQueue } from './work-queue.ts'

const ITEMS = 30_000
/** So many of the oldest have a key and a caller of their own; four of them have failed. */
const OLD = 40

let errands: ErrandQueues
let queue: WorkQueue
beforeAll(async () => {
  errands = await createErrandQueues()
  queue = errands.prepare(createErrandType().type).queue
  await sql`
    with made as (
      insert into work_items (id, item_type, phase, resolution, dedup_key, content_hash, caller_identity, concurrency_key)
      select ('01890000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
             'errand',
             case when n <= 4 then 'failed' when n % 2 = 0 then 'completed' else 'active' end,
             case when n <= 4 or n % 2 = 0 then 'done' end,
             'errand:' || case when n <= ${OLD} then 'Old_' else 'new-' end || n,
             '',
             case when n <= ${OLD} then 'ann' else 'bob-' || n % 3 end,
             case when n <= ${OLD} then 'attic' else 'hall-' || n % 5 end
      from generate_series(1, ${ITEMS}::int) n
      returning id, dedup_key
    )
    insert into errand_details (work_item_id, name, text)
    select id, dedup_key, '' from made`.execute(errands.db)
  await sql`vacuum analyze work_items`.execute(errands.db)
})
afterAll(() => errands.drop())

const CASES: readonly [string, Partial<ListFilter>, number][] = [
  ['everything', {}, 20],
  ['a phase that is rare', { phase: 'failed' }, 4],
  ['a caller who has long been gone', { callerIdentity: 'ann' }, 20],
  ['a caller in a phase', { callerIdentity: 'ann', phase: 'failed' }, 4],
  ['a key that has long been quiet', { concurrencyKeys: ['attic'] }, 20],
  ['several keys in a phase', { concurrencyKeys: ['attic', 'cellar'], phase: 'failed' }, 4],
  ['a caller within a key', { callerIdentity: 'ann', concurrencyKeys: ['attic'] }, 20],
  ['a text within a key', { concurrencyKeys: ['attic'], search: 'OLD_1' }, 11],
  ['a text that is common', { search: 'new' }, 20],
]

describe('a list narrowed to', () => {
  test.each(CASES)('%s is found at once', async (_title, filter, expected) => {
    const { items } = await queue.list({ limit: 20, ...filter })
    expect(items).toHaveLength(expected)
  })

  test.each([...CASES, ['a text that nothing holds', { search: 'x%' }, 0] as const])(
    '%s reads a bounded part of an index, in its order',
    async (_title, filter) => {
      for (const plan of await plansOf(() => queue.list({ limit: 20, ...filter }))) {
        expect(plan.nodes).not.toContain('Seq Scan')
        expect(plan.rowsRead).toBeLessThanOrEqual(2_010)
      }
    },
  )

  test('a text that is rare says page by page where to go on, until it is found', async () => {
    const found: string[] = []
    let pages = 0
    let before: string | null = null
    do {
      const page = await queue.list({ limit: 7, search: 'old_', ...(before === null ? {} : { before }) })
      found.push(...page.items.map(({ item }) => item.dedupKey))
      before = page.next
      pages += 1
    } while (before !== null)

    expect(found).toEqual(Array.from({ length: OLD }, (_, index) => `errand:Old_${OLD - index}`))
    expect(pages).toBeLessThanOrEqual(ITEMS / 2_000 + OLD / 7 + 1)
  })

  test('what its reader may see looks at no more of what is hidden', async () => {
    let asked = 0
    const isVisible = () => {
      asked += 1
      return false
    }
    const { items, next } = await queue.list({ limit: 20, isVisible })
    expect([items, next]).toEqual([[], expect.any(String)])
    expect(asked).toBe(5_000)
  })

  test('no key at all is empty', async () => {
    expect(await queue.list({ limit: 20, concurrencyKeys: [] })).toEqual({ items: [], next: null })
  })
})

interface Plan {
  readonly nodes: readonly string[]
  /** Out of the table or its indexes. */
  readonly rowsRead: number
}

const nodeSchema = z.object({
  'Node Type': z.string(),
  'Relation Name': z.string().optional(),
  'Actual Rows': z.number(),
  'Rows Removed by Filter': z.number().default(0),
  get Plans() {
    return z.array(nodeSchema).default([])
  },
})
const explainedSchema = z.tuple([z.object({ 'QUERY PLAN': z.tuple([z.object({ Plan: nodeSchema })]) })])

/** Of the statements that look for the page; reading the items themselves is another matter. */
async function plansOf(run: () => Promise<unknown>): Promise<readonly Plan[]> {
  const statements: { readonly text: string; readonly values: readonly unknown[] }[] = []
  const stop = watchStatements((text, values) => {
    if (text.includes('merged')) statements.push({ text, values })
  })
  await run().finally(stop)
  const client = new pg.Client({ connectionString: errands.url })
  await client.connect()
  try {
    const plans: Plan[] = []
    for (const { text, values } of statements) {
      const { rows } = await client.query(`explain (analyze, format json) ${text}`, [...values])
      plans.push(summarize(explainedSchema.parse(rows)[0]['QUERY PLAN'][0].Plan))
    }
    return plans
  } finally {
    await client.end()
  }
}

function summarize(node: z.infer<typeof nodeSchema>): Plan {
  const below = node.Plans.map(summarize)
  const own = node['Relation Name'] === undefined ? 0 : node['Actual Rows'] + node['Rows Removed by Filter']
  return {
    nodes: [node['Node Type'], ...below.flatMap(({ nodes }) => nodes)],
    rowsRead: own + below.reduce((sum, { rowsRead }) => sum + rowsRead, 0),
  }
}
