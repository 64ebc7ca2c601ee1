/**
 * P2: how many events a second one process takes in. From SQS, through the real consumer, against one client that stores ten
 * events in one commit and does nothing else; and by single webhooks over 20 connections, against INSERTs. What is stored is
 * not worked on.
 */
import pg from 'pg'
import { z } from 'zod'
import type { Bench, Goal } from '../support/bench.ts'
import { eventBatchLimit, insertLimit } from '../support/pgbench.ts'
import { type BenchProcess, startProcess } from '../support/process.ts'
import { fillItems } from '../support/product.ts'
import { interleave, median, monotonicMs, rounded } from '../support/statistics.ts'

const ITEMS = 1_000
const RECEIVERS = 8
const CONNECTIONS = 20
const POLL_MS = 5
const PATIENCE_MS = 120_000

const whereSchema = z.object({ queueUrl: z.string(), connection: z.unknown() })
const targetSchema = z.object({ url: z.string(), token: z.string() })
const loadSchema = z.object({ perSecond: z.number(), p50: z.number(), p99: z.number(), refused: z.number() })

interface Taken {
  readonly perSecond: number
  readonly commits: number
  readonly p99: number
  readonly direct: number
}
const NOTHING: Taken = { perSecond: 0, commits: 0, p99: 0, direct: 0 }

export const p2: Goal = {
  id: 'P2',
  async run(bench) {
    const observer = new pg.Client({ connectionString: bench.url })
    await observer.connect()
    try {
      const keys = await fillItems(observer, ITEMS, 'idle')
      await observer.query('vacuum analyze')
      const insert = await insertLimit(bench.url)
      const batches = await eventBatchLimit(bench.url)
      const seconds = bench.quick ? 2 : 5
      const measured = await interleave<'insert' | 'floor' | 'queue' | 'webhook', Taken>(bench.rounds, {
        insert: async () => ({ ...NOTHING, perSecond: await insert.measure(CONNECTIONS, seconds) }),
        floor: async () => ({ ...NOTHING, perSecond: await batches.measure(1, seconds) }),
        queue: () => takeFromQueue(bench, observer, keys, seconds),
        webhook: () => takeWebhooks(bench, observer, keys, seconds),
      })
      report(bench, measured, { insert: insert.name, floor: batches.name })
    } finally {
      await observer.end()
    }
  },
}

function report(
  bench: Bench,
  { insert, floor, queue, webhook }: Readonly<Record<'insert' | 'floor' | 'queue' | 'webhook', readonly Taken[]>>,
  names: { readonly insert: string; readonly floor: string },
): void {
  const rates = (all: readonly Taken[]) => all.map(({ perSecond }) => perSecond)
  const directly = queue.map(({ direct }) => direct)
  bench.report({
    part: 'events from SQS',
    unit: '1/s',
    figures: rates(queue),
    reference: { name: names.floor, figures: rates(floor) },
    target: { atLeast: 0.5 },
    extra: {
      without_sqs: rounded(median(directly)),
      ratio_without_sqs: rounded(median(directly) / median(rates(floor))),
    },
  })
  bench.report({
    part: 'commits',
    unit: 'per event',
    figures: queue.map(({ commits }) => commits),
    target: { atMost: 0.15 },
  })
  bench.report({
    part: 'single webhooks',
    unit: '1/s',
    figures: rates(webhook),
    reference: { name: names.insert, figures: rates(insert) },
    target: { atLeast: 0.12 },
    extra: { p99_ms: rounded(median(webhook.map(({ p99 }) => p99))) },
  })
}

async function takeFromQueue(
  bench: Bench,
  observer: pg.Client,
  keys: readonly string[],
  seconds: number,
): Promise<Taken> {
  const count = bench.quick ? 500 : 20_000
  return withIngester(bench, async (ingester, events) => {
    await clear(observer)
    await events.ask('fill', z.null(), { count, keys })
    const before = await transactionId(observer)
    const startedAt = monotonicMs()
    await ingester.ask('start', z.null())
    await untilReceived(ingester, events, count)
    const perSecond = (count * 1_000) / (monotonicMs() - startedAt)
    // Asking takes a number as well.
    const commits = (Number((await transactionId(observer)) - before) - 1) / count
    const stored = await observer.query('select count(*)::int as n from pending_events')
    if (stored.rows[0]?.n !== count) throw new Error(`${stored.rows[0]?.n} of ${count} events were stored`)
    await clear(observer)
    const direct = await ingester.ask('direct', z.number(), { seconds, keys })
    await clear(observer)
    return { perSecond, commits, p99: 0, direct }
  })
}

async function takeWebhooks(
  bench: Bench,
  observer: pg.Client,
  keys: readonly string[],
  seconds: number,
): Promise<Taken> {
  return withIngester(bench, async (ingester) => {
    const target = await ingester.ask('target', targetSchema)
    const client = await startProcess('load', { ...target, connections: CONNECTIONS, webhookKeys: keys })
    try {
      await client.ask('load', loadSchema, bench.quick ? 0.5 : 2)
      const { perSecond, p99 } = await client.ask('load', loadSchema, seconds)
      return { ...NOTHING, perSecond, p99 }
    } finally {
      await client.stop()
      await clear(observer)
    }
  })
}

async function withIngester<T>(
  bench: Bench,
  measure: (ingester: BenchProcess, events: BenchProcess) => Promise<T>,
): Promise<T> {
  const events = await startProcess('event-queue', {})
  try {
    const sqs = await events.ask('where', whereSchema)
    const ingester = await startProcess('ingester', { url: bench.url, sqs, receivers: RECEIVERS })
    try {
      return await measure(ingester, events)
    } finally {
      await ingester.stop()
    }
  } finally {
    await events.stop()
  }
}

/** Received and deleted: a message is deleted once its event is stored. */
async function untilReceived(ingester: BenchProcess, events: BenchProcess, count: number): Promise<void> {
  const deadline = monotonicMs() + PATIENCE_MS
  while (monotonicMs() < deadline) {
    const received = await ingester.ask('received', z.int())
    if (received >= count && (await events.ask('left', z.int())) === 0) return
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error('the events were not taken in')
}

async function clear(observer: pg.Client): Promise<void> {
  await observer.query('truncate pending_events')
  await observer.query('update work_items set actionable = false where actionable')
}

/** Every transaction that writes takes the next number. */
async function transactionId(observer: pg.Client): Promise<bigint> {
  const { rows } = await observer.query<{ id: string }>('select pg_current_xact_id()::text as id')
  return BigInt(rows[0]?.id ?? 0)
}
