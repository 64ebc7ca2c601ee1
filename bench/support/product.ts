/**
 * The product as the benchmark sees it: all its wiring, and nothing of it elsewhere. The item type has one dimension, a
 * decider with one action and an executor that does nothing; leases, fencing and the audit's log line are those of
 * production.
 */
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { z } from 'zod'
import { createLog } from '../../src/app/log.ts'
import type { Audit } from '../../src/audit/entry.ts'
import { createLogAudit } from '../../src/audit/log-sink.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { runPrepared } from '../../src/db/prepared.ts'
import { createGrouper, type Grouper } from '../../src/lib/grouper.ts'
import type { Log } from '../../src/lib/log.ts'
import { queueConfigSchema } from '../../src/queue/config.ts'
import { createQueue } from '../../src/queue/create-queue.ts'
import { actionableVariants } from '../../src/queue/dimension.ts'
import type { AnyItemType, ExecutorContext, ItemType } from '../../src/queue/item-type.ts'
import type { PauseAdmin } from '../../src/queue/pause-admin.ts'
import type { ProcessingManager } from '../../src/queue/processing-manager.ts'
import type { QueueAdmin } from '../../src/queue/queue-admin.ts'
import { WAKE_CHANNEL } from '../../src/queue/sql/notify-wake.ts'
import type { WorkQueue } from '../../src/queue/work-queue.ts'
import { type Contender, type Producer, TEXT } from './contender.ts'

export { WAKE_CHANNEL }
export const ITEM_TYPE = 'bench'
/** The stamp of an item whose action ends only with its process. */
const HELD = 'held'
const HOUR_MS = 3_600_000
const IDLE_BATCH = 10_000

/** Is this the sweep's look for due work? */
export function isSweep(statement: string): boolean {
  return statement.includes('pending_events') && statement.includes('pending_until <= now()')
}

const submissionSchema = z.strictObject({
  item_type: z.literal(ITEM_TYPE),
  key: z.string().min(1).max(100),
  stamp: z.string().max(100),
  text: z.string().max(1_000),
})
type Submission = z.infer<typeof submissionSchema>

interface Detail {
  readonly key: string
  readonly stamp: string
  runs: number
}

const eventSchema = z.object({ key: z.string() })

const NEEDS_RUN = { name: 'needs_run', absent: 'needed' } as const

export interface JobBehaviour {
  readonly jobMs: number
  readonly onJob: (stamp: string) => void
}

/** Events that arrive together share a look, as with `mr`. */
async function findActive(db: Database, dedupKeys: readonly string[]): Promise<readonly (readonly string[])[]> {
  const { rows } = await runPrepared<{ id: string; dedup_key: string }>(db, FIND_ACTIVE, [dedupKeys])
  const found = Map.groupBy(rows, ({ dedup_key }) => dedup_key)
  return dedupKeys.map((key) => (found.get(key) ?? []).map(({ id }) => id))
}

const FIND_ACTIVE = `select id, dedup_key from work_items where dedup_key = any($1::text[]) and phase = 'active'`

function createBenchType({ jobMs, onJob }: JobBehaviour): ItemType<Submission, Detail> {
  let lookups: Grouper<string, readonly string[]> | undefined
  return {
    name: ITEM_TYPE,
    submissionSchema,
    dimensions: [NEEDS_RUN],
    onSubmission: { needed: [NEEDS_RUN.name], cleared: [] },
    onCancel: NEEDS_RUN.name,
    identify: ({ key, text }) => ({
      dedupKey: `${ITEM_TYPE}:${key}`,
      contentHash: createHash('sha256').update(text).digest('hex'),
    }),
    scopeOfSubmission: () => ({}),
    scopeOfItem: () => ({}),
    inspect: async () => [],
    details,
    decide: ({ item, dimensions, now }) =>
      item.phase === 'active' && actionableVariants(NEEDS_RUN, dimensions, now).length > 0 ? 'run' : null,
    executors: {
      async run(draft, context) {
        onJob(draft.detail.stamp)
        if (draft.detail.stamp === HELD) await untilAborted(context)
        if (jobMs > 0) await delay(jobMs, undefined, { signal: context.signal })
        draft.detail.runs += 1
        draft.settle(NEEDS_RUN.name)
        draft.finish('completed', 'done')
        return { outcome: 'succeeded' }
      },
    },
    events: {
      async resolve(db, { body }) {
        const { key } = eventSchema.parse(body)
        lookups ??= createGrouper({ run: (keys) => findActive(db, keys), maxSize: 100, concurrency: 2 })
        return lookups.run(`${ITEM_TYPE}:${key}`)
      },
      handle: ({ eventType }) => ({ phase: null, dimensions: [], trigger: eventType }),
    },
    present: ({ detail }) => ({ summary: detail.key, links: [], blockers: [], detail: { key: detail.key } }),
  }
}

function untilAborted({ signal }: ExecutorContext): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

const details: ItemType<Submission, Detail>['details'] = {
  table: 'bench_details',
  submitted: ['key', 'stamp', 'text'],
  observed: ['runs'],
  unread: ['text'],
  fromSubmission: ({ key, stamp, text }) => ({ key, stamp, text }),
  fromDetail: ({ runs }) => ({ runs }),
  toDetail: ({ key, stamp, runs }) => ({ key: String(key), stamp: String(stamp), runs: Number(runs) }),
}

/** The schema of the product and the table of the bench type. */
export async function prepareProduct(url: string): Promise<void> {
  const db = openDatabase({ url })
  try {
    await migrate(db)
    await sql`
      create table bench_details (
        work_item_id uuid primary key references work_items (id) on delete cascade,
        key text not null,
        stamp text not null,
        text text not null,
        runs integer not null default 0
      )`.execute(db)
  } finally {
    await db.destroy()
  }
}

export interface OpenQueue {
  readonly queue: WorkQueue
  readonly admin: QueueAdmin
  readonly pauses: PauseAdmin
  readonly manager: ProcessingManager
  readonly log: Log
  readonly audit: Audit
  /** Until then it accepts and works on nothing. */
  start(): Promise<void>
  stop(): Promise<void>
}

export interface OpenQueueOptions extends Partial<JobBehaviour> {
  readonly workers?: number
  /** false: it neither wakes other processes nor listens to them. */
  readonly wakeUps?: boolean
  /** Does nothing on its own: one sweep at its start and never again, no listening, no housekeeping. */
  readonly quiet?: boolean
  /** An item has ended, and that is committed. */
  readonly onFinished?: (workItemId: string) => void
}

/** What is measured is the queue; how much a caller may have open is the operator's to say. */
const UNLIMITED = { open_items_per_caller: null, open_items_per_key: null }

/** A queue as a process of the service has it. */
export function openQueue(url: string, options: OpenQueueOptions = {}): OpenQueue {
  const { workers = 10, jobMs = 0, onJob = () => {}, wakeUps = true, quiet = false, onFinished } = options
  const db = openDatabase({ url })
  const log = createLog('info', '/dev/null')
  const audit = createLogAudit(log, (entry) => {
    if (entry.event_type === 'phase_change' && entry.work_item_id !== undefined) onFinished?.(entry.work_item_id)
  })
  const settled = queueConfigSchema.parse({ workers, shutdown_grace: '100ms', ...UNLIMITED })
  const type: AnyItemType = createBenchType({ jobMs, onJob })
  const { work, admin, pauses, manager, start, stop } = createQueue({
    db,
    itemTypes: new Map([[type.name, type]]),
    config: quiet ? { ...settled, sweep_interval: HOUR_MS } : settled,
    audit,
    log,
    random: Math.random,
    listenUrl: wakeUps ? url : null,
  })
  return {
    queue: work,
    admin,
    pauses,
    manager,
    log,
    audit,
    start: quiet ? async () => manager.start() : start,
    async stop() {
      await stop()
      await db.destroy()
    },
  }
}

let made = 0

export function newSubmission(stamp = ''): Submission {
  made += 1
  return { item_type: ITEM_TYPE, key: `${process.pid}-${made}`, stamp, text: TEXT }
}

/** A started queue whose only worker is held by an item that does not end: what is submitted there is for others. */
export async function openBusyQueue(url: string, options: Pick<OpenQueueOptions, 'wakeUps'> = {}): Promise<OpenQueue> {
  const held = Promise.withResolvers<void>()
  const open = openQueue(url, { ...options, workers: 1, onJob: () => held.resolve() })
  await open.start()
  await open.queue.submit(ITEM_TYPE, newSubmission(HELD), 'bench')
  await held.promise
  return open
}

/**
 * Items by SQL, as the queue would have made them, with ids that grow with time as its own do. `idle` ones have been worked
 * on, are active and wait: one of their three dimensions for an hour.
 */
export async function fillItems(client: pg.Pool | pg.Client, count: number, kind: 'due' | 'idle'): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `with made as (
       select
         (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
           || '7' || substr(noise, 1, 3) || '8' || substr(noise, 4, 15))::uuid as id
       from generate_series(1, $1::integer) number, md5(random()::text || number) noise
     ),
     items as (
       insert into work_items (id, item_type, actionable, dedup_key, content_hash, caller_identity)
       select id, $2, $3, $2 || ':' || id, md5(''), 'bench'
       from made
       returning id
     ),
     details as (
       insert into bench_details (work_item_id, key, stamp, text)
       select id, id::text, '', $4
       from items
     ),
     dimensions as (
       insert into work_item_statuses (work_item_id, dimension, status, pending_until)
       select id, dimension, status, now() + pause
       from items, (values
         ('needs_run', 'false', null),
         ('needs_look', 'false', null),
         ('needs_check', 'true', interval '1 hour')) as waiting (dimension, status, pause)
       where not $3
     )
     select id from items`,
    [count, ITEM_TYPE, kind === 'due', TEXT],
  )
  return rows.map(({ id }) => id)
}

/** Idle items by the thousand, and what autovacuum would do about them in time. */
export async function fillIdleItems(client: pg.Client, count: number): Promise<void> {
  for (let left = count; left > 0; left -= IDLE_BATCH) await fillItems(client, Math.min(IDLE_BATCH, left), 'idle')
  await client.query('vacuum analyze work_items, work_item_statuses, pending_events, bench_details')
}

export const product: Contender = {
  name: 'workqueue-service',
  // Every goal's database is prepared for the product before it begins.
  async prepare() {},
  async connect(url): Promise<Producer> {
    const pool = new pg.Pool({ connectionString: url, max: 4 })
    let busy: Promise<OpenQueue> | null = null
    return {
      clear: async () => void (await pool.query('truncate work_items cascade')),
      async fill(count) {
        await fillItems(pool, count, 'due')
        await pool.query(`select pg_notify($1, '')`, [WAKE_CHANNEL])
      },
      async submit(stamp) {
        busy ??= openBusyQueue(url)
        await (await busy).queue.submit(ITEM_TYPE, newSubmission(stamp), 'bench')
      },
      async isDrained() {
        const { rowCount } = await pool.query(`select from work_items where phase = 'active' limit 1`)
        return rowCount === 0
      },
      async close() {
        await (await busy)?.stop()
        await pool.end()
      },
    }
  },
  async work(url, { concurrency, jobMs, onJob }) {
    const { queue, start, stop } = openQueue(url, { workers: concurrency, jobMs, onJob })
    await start()
    return {
      submit: async (stamp) => void (await queue.submit(ITEM_TYPE, newSubmission(stamp), 'bench')),
      stop,
    }
  },
}
