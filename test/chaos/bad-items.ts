/**
 * R12: one item in a hundred always throws, hangs for ever or ends its process. The others must not notice: each kind of bad
 * item has a run of its own, over the same good items, and the rate at which those complete is compared with a run without
 * bad ones. The bad ones end failed, with an error that says why, and can be retried.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { errandText, type Mode } from './support/chaos-errand.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'
import type { WorkerProcess } from './support/worker-process.ts'
import { createWorld, inParallel, until, type World } from './support/world.ts'

const PROCESSES = 2
const WORKERS = 10
const CONFIG = { workers: WORKERS, lease: '2s', max_attempts: 3, backoff_base: '100ms' }
const WORK_MS = 500
const ITEMS = 1_000
const BAD_SHARE = 0.01
const ALLOWED_LOSS = 0.05
/** A run with bad items may take so many times as long as it should, and the bad ones a while on top. */
const PATIENCE = 5
const BAD_PATIENCE_MS = 45_000

interface Outcome {
  readonly goodPerSecond: number
  readonly goodUndone: number
  readonly badFailed: number
  readonly badWithError: number
  readonly bad: number
  readonly retryable: boolean
  readonly deaths: number
}

export async function badItems({ scale }: ChaosOptions): Promise<Verdict> {
  const items = Math.ceil(ITEMS * scale)
  const reference = await oneRun(null, items)
  const kinds: Record<string, unknown> = {}
  let worst = 0
  let allEnded = true
  for (const mode of ['throw', 'hang', 'exit'] as const) {
    const outcome = await oneRun(mode, items)
    const loss = 1 - outcome.goodPerSecond / reference.goodPerSecond
    worst = Math.max(worst, loss)
    allEnded &&= outcome.goodUndone === 0 && outcome.badWithError === outcome.bad && outcome.retryable
    kinds[mode] = { ...outcome, loss: Math.round(loss * 1_000) / 1_000 }
  }
  return {
    goal: 'R12',
    figure: Math.round(worst * 1_000) / 1_000,
    target: `throughput that the others lose <= ${ALLOWED_LOSS}; every bad item failed with its error, retryable`,
    ok: worst <= ALLOWED_LOSS && allEnded,
    reference_per_second: reference.goodPerSecond,
    ...kinds,
  }
}

async function oneRun(mode: Mode | null, items: number): Promise<Outcome> {
  const world = await createWorld({ config: CONFIG })
  try {
    const clerk = await world.start({ works: false })
    const isBad = (index: number) => mode !== null && index % Math.round(1 / BAD_SHARE) === 0
    const names = Array.from({ length: items }, (_, index) => `${isBad(index) ? 'bad' : 'good'}-${index}`)
    const text = (name: string) =>
      mode !== null && name.startsWith('bad') ? errandText(mode) : errandText('finish', WORK_MS)
    await inParallel(names, 20, (name) => clerk.submit(name, text(name)))
    const good = names.filter((name) => name.startsWith('good')).length
    const supervisor = supervise(world)
    const startedAt = performance.now()
    const done = () => count(world, 'good', "phase = 'completed'")
    await until(async () => (await done()) === good, PATIENCE * expectedMs(items))
    const goodPerSecond = (await done()) / ((performance.now() - startedAt) / 1_000)
    const bad = items - good
    await until(async () => (await count(world, 'bad', "phase = 'failed'")) === bad, BAD_PATIENCE_MS)
    return {
      goodPerSecond: Math.round(goodPerSecond * 10) / 10,
      goodUndone: good - (await done()),
      bad,
      badFailed: await count(world, 'bad', "phase = 'failed'"),
      badWithError: await count(world, 'bad', "phase = 'failed' and last_error->>'message' <> ''"),
      retryable: await canBeRetried(world, clerk),
      deaths: await supervisor.stop(),
    }
  } finally {
    await world.close()
  }
}

/** With all workers busy, and the processes' start. */
function expectedMs(items: number): number {
  return (items * WORK_MS) / (PROCESSES * WORKERS) + 5_000
}

function count(world: World, kind: 'good' | 'bad', condition: string): Promise<number> {
  return world.count(`select count(*) from work_items where dedup_key like 'errand:${kind}-%' and ${condition}`)
}

async function canBeRetried(world: World, clerk: WorkerProcess): Promise<boolean> {
  const [failed] = await world.postgres.query("select id from work_items where phase = 'failed' limit 1")
  if (failed === undefined) return false
  return clerk.retry(String(failed['id'])).then(
    () => true,
    () => false,
  )
}

/** Starts a process again as soon as it has ended. */
function supervise(world: World): { stop(): Promise<number> } {
  let deaths = 0
  let stopped = false
  const places = Array.from({ length: PROCESSES }, async () => {
    while (!stopped) {
      const worker = await world.start()
      while (!stopped && worker.isAlive()) await Promise.race([worker.ended, delay(100)])
      if (!stopped) deaths += 1
    }
  })
  return {
    async stop() {
      stopped = true
      await Promise.all(places)
      return deaths
    },
  }
}
