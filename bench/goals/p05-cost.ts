/**
 * P5: what one item costs PostgreSQL, counted and not timed: statements at this process's driver, commits by the server's
 * transaction ids. A lone submission, a lone action on an item that a process is woken for, and a backlog of a hundred.
 */
import pg from 'pg'
import type { Bench, Goal } from '../support/bench.ts'
import { fillItems, ITEM_TYPE, newSubmission, openQueue } from '../support/product.ts'
import { countStatements } from '../support/statements.ts'
import { rounded } from '../support/statistics.ts'
import { within } from '../support/within.ts'

const BACKLOG = 100
const PATIENCE_MS = 30_000

interface Cost {
  statements: number
  roundTrips: number
  commits: number
}

export const p5: Goal = {
  id: 'P5',
  async run(bench) {
    const observer = new pg.Client({ connectionString: bench.url })
    await observer.connect()
    try {
      const items = bench.quick ? 50 : 500
      const submit = await costOfSubmitting(bench.url, observer, items, false)
      const hinting = await costOfSubmitting(bench.url, observer, items, true)
      reportCost(bench, 'submit', submit, { statements: 2, commits: 1 }, { commits_with_wake_ups: hinting.commits })
      const alone = await costOfWorking(bench.url, observer, { rounds: items, batch: 1 })
      reportCost(bench, 'one action alone', alone, { statements: 3, commits: 2 })
      const grouped = await costOfWorking(bench.url, observer, { rounds: bench.quick ? 5 : 20, batch: BACKLOG })
      reportCost(bench, 'grouped, backlog of 100', grouped, { statements: 0.15, commits: 0.1 })
    } finally {
      await observer.end()
    }
  },
}

function reportCost(
  bench: Bench,
  what: string,
  { statements, roundTrips, commits }: Cost,
  limits: { readonly statements: number; readonly commits: number },
  extra: object = {},
): void {
  const report = (part: string, figure: number, atMost: number, facts: object) =>
    bench.report({
      part: `${what}: ${part}`,
      unit: 'per item',
      figures: [figure],
      target: { atMost },
      extra: { ...facts },
    })
  report('statements', statements, limits.statements, { round_trips: rounded(roundTrips) })
  report('commits', commits, limits.commits, extra)
}

/** `wakeUps`: other processes are told, which costs at most one statement in a few milliseconds, not one an item. */
async function costOfSubmitting(url: string, observer: pg.Client, items: number, wakeUps: boolean): Promise<Cost> {
  // Not started: it accepts, and works on nothing.
  const { queue, stop } = openQueue(url, { wakeUps })
  const submit = () => queue.submit(ITEM_TYPE, newSubmission(), 'bench')
  try {
    // The first statement of a connection may ask the server more.
    await submit()
    return await costOf(observer, items, async () => {
      for (let made = 0; made < items; made += 1) await submit()
    })
  } finally {
    await stop()
    await observer.query('truncate work_items cascade')
  }
}

async function costOfWorking(
  url: string,
  observer: pg.Client,
  { rounds, batch }: { readonly rounds: number; readonly batch: number },
): Promise<Cost> {
  const finished = new Set<string>()
  let somethingFinished = () => {}
  const onFinished = (id: string) => {
    finished.add(id)
    somethingFinished()
  }
  const { manager, start, stop } = openQueue(url, { onFinished, quiet: true })
  const workOff = async (ids: readonly string[]) => {
    for (const id of ids) manager.notify(id)
    while (!ids.every((id) => finished.has(id))) {
      const { promise, resolve } = Promise.withResolvers<void>()
      somethingFinished = resolve
      await within(PATIENCE_MS, promise, 'no further item was finished')
    }
  }
  await start()
  try {
    const sum: Cost = { statements: 0, roundTrips: 0, commits: 0 }
    // The first round warms up and counts for nothing: it opens connections.
    for (let round = 0; round <= rounds; round += 1) {
      const ids = await fillItems(observer, batch, 'due')
      const cost = await costOf(observer, batch * rounds, () => workOff(ids))
      if (round === 0) continue
      sum.statements += cost.statements
      sum.roundTrips += cost.roundTrips
      sum.commits += cost.commits
    }
    return sum
  } finally {
    await stop()
  }
}

/** What `work` costs, divided by the number of items it is about. */
async function costOf(observer: pg.Client, items: number, work: () => Promise<void>): Promise<Cost> {
  const before = await transactionId(observer)
  const counter = countStatements()
  try {
    await work()
  } finally {
    counter.stop()
  }
  // Asking takes a number as well.
  const commits = Number((await transactionId(observer)) - before) - 1
  return { statements: counter.statements / items, roundTrips: counter.roundTrips / items, commits: commits / items }
}

/** Every transaction that writes takes the next number. */
async function transactionId(observer: pg.Client): Promise<bigint> {
  const { rows } = await observer.query<{ id: string }>('select pg_current_xact_id()::text as id')
  return BigInt(rows[0]?.id ?? 0)
}
