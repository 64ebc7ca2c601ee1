/** Workers of one contender on one database, and how fast they get through a backlog. */
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { Contender } from './contender.ts'
import { type BenchProcess, startProcess } from './process.ts'
import { monotonicMs } from './statistics.ts'

const countSchema = z.object({ jobs: z.number(), firstAt: z.number().nullable() })
const LOOK_MS = 20
const END_LOOK_MS = 5
const LIMIT_MS = 5 * 60_000

export interface WorkerOptions {
  readonly concurrency?: number
  readonly jobMs?: number
  readonly countStatements?: boolean
}

/** A process that is ready to work and told to begin with `start`. */
export function startWorker(contender: Contender, url: string, options: WorkerOptions = {}): Promise<BenchProcess> {
  return startProcess('worker', { contender: contender.name, url, concurrency: 10, ...options })
}

export async function begin(worker: BenchProcess): Promise<void> {
  await worker.ask('start', z.unknown())
}

/** Jobs that these processes have begun, and when the first of them was. */
export async function countJobs(workers: readonly BenchProcess[]): Promise<{ jobs: number; firstAt: number }> {
  const counts = await Promise.all(workers.map((worker) => worker.ask('count', countSchema)))
  return {
    jobs: counts.reduce((sum, { jobs }) => sum + jobs, 0),
    firstAt: Math.min(...counts.map(({ firstAt }) => firstAt ?? Number.POSITIVE_INFINITY)),
  }
}

export interface DrainOptions extends WorkerOptions {
  readonly count: number
  readonly processes?: number
}

/** Jobs a second, from the first one that runs until the last one's end is recorded. */
export async function drain(contender: Contender, url: string, options: DrainOptions): Promise<number> {
  const { count, processes = 1, ...workerOptions } = options
  const producer = await contender.connect(url)
  const workers: BenchProcess[] = []
  try {
    await producer.clear()
    await producer.fill(count)
    const start = () => startWorker(contender, url, workerOptions)
    workers.push(...(await Promise.all(Array.from({ length: processes }, start))))
    const deadline = monotonicMs() + LIMIT_MS
    await Promise.all(workers.map(begin))
    for (;;) {
      const { jobs } = await countJobs(workers)
      // The database is asked only when the end is near, so that asking costs the contender nothing.
      if (jobs >= count && (await producer.isDrained())) break
      if (monotonicMs() > deadline) throw new Error(`${contender.name} had done ${jobs} of ${count} jobs`)
      await delay(jobs >= count ? END_LOOK_MS : LOOK_MS)
    }
    const endedAt = monotonicMs()
    const { firstAt } = await countJobs(workers)
    return (count * 1_000) / (endedAt - firstAt)
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()))
    await producer.close()
  }
}
