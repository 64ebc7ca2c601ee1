/**
 * Everything one chaos script needs: a PostgreSQL it may kill, the schema, a journal of effects, and workers. What was
 * started is ended and removed by `close`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { z } from 'zod'
import { openDatabase } from '../../../src/db/database.ts'
import { migrate } from '../../../src/db/migrate.ts'
import type { queueConfigSchema } from '../../../src/queue/config.ts'
import { createErrandTable } from '../../support/errand-type.ts'
import { createJournal, type Effect, now, readEffects } from './journal.ts'
import { type ChaosPostgres, startChaosPostgres } from './postgres.ts'
import { startWorker, type WorkerProcess } from './worker-process.ts'

export interface StartOptions {
  /** As in the configuration file. */
  readonly config?: z.input<typeof queueConfigSchema>
  readonly maxConnections?: number
  /** false: it accepts and works on nothing. */
  readonly works?: boolean
  readonly clockShiftMs?: number
  /** Another way to the same database. */
  readonly url?: string
  /** Where to hear the wake-ups of others; as long as nothing is said, at the database itself. */
  readonly listenUrl?: string | null
}

export interface World {
  readonly postgres: ChaosPostgres
  readonly directory: string
  start(options?: StartOptions): Promise<WorkerProcess>
  effects(): readonly Effect[]
  /** One number out of the database. */
  count(expression: string): Promise<number>
  close(): Promise<void>
}

export async function createWorld(defaults: StartOptions = {}): Promise<World> {
  const directory = await mkdtemp(join(tmpdir(), 'workqueue-chaos-'))
  const postgres = await startChaosPostgres(directory)
  const db = openDatabase({ url: postgres.url })
  await migrate(db)
  await createErrandTable(db)
  await db.destroy()
  const journal = join(directory, 'effects.jsonl')
  createJournal(journal)
  const workers: WorkerProcess[] = []
  let started = 0
  return {
    postgres,
    directory,
    async start(options = {}) {
      const { config = {}, maxConnections = 20, works = true, clockShiftMs, ...ways } = { ...defaults, ...options }
      const { url = postgres.url, listenUrl = postgres.url } = ways
      started += 1
      const name = `worker-${started}`
      const worker = await startWorker({ name, url, listenUrl, journal, config, maxConnections, works }, clockShiftMs)
      workers.push(worker)
      return worker
    },
    effects: () => readEffects(journal),
    async count(expression) {
      const [row] = await postgres.query(`select (${expression})::int as n`)
      return Number(row?.['n'])
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.kill()))
      await postgres.remove()
      await rm(directory, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const POLL_MS = 20

/** Waits for a condition. An error counts as "not yet": the database may be away. Answers false when patience ends. */
export async function until(condition: () => boolean | Promise<boolean>, patienceMs = 60_000): Promise<boolean> {
  const deadline = now() + patienceMs
  for (;;) {
    if (await Promise.resolve(condition()).catch(() => false)) return true
    if (now() > deadline) return false
    await delay(POLL_MS)
  }
}

/** Runs `task` for each input, so many at a time. */
export async function inParallel<T>(
  inputs: readonly T[],
  atATime: number,
  task: (input: T) => Promise<unknown>,
): Promise<void> {
  const queue = inputs.values()
  const lane = async () => {
    for (const input of queue) await task(input)
  }
  await Promise.all(Array.from({ length: atATime }, lane))
}

export function numbered(count: number, name = 'errand'): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index + 1}`)
}
