/**
 * R2: schedules of faults, each drawn from a seed, over callers who submit, change, cancel and retry errands and send events
 * about them, to workers whose clocks are ten minutes wrong. Every errand must end where the sequential model says; nobody
 * begins a write outside under a lost lease; and while no fault is at work nothing due waits for more than two sweeps.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type PostgresProxy, startPostgresProxy } from '../support/postgres-proxy.ts'
import { writesAfterLostLease } from './support/journal.ts'
import { drawPlan, endOf, type Plan, type Step } from './support/plans.ts'
import { createRandom, type Random } from './support/random.ts'
import { watchUnclaimed } from './support/unclaimed.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'
import { CallFailed, type WorkerProcess } from './support/worker-process.ts'
import { createWorld, numbered, until, type World } from './support/world.ts'

const SCHEDULES = 10
const ITEMS = 12
const FAULTS = 6
const LEASE_MS = 1_500
const SWEEP_MS = 1_000
const CLOCKS_MS = [0, 600_000, -600_000]
const CONFIG = { lease: `${LEASE_MS}ms`, sweep_interval: `${SWEEP_MS}ms`, backoff_base: '50ms', max_attempts: 3 }
const STEP_PATIENCE_MS = 60_000
const END_PATIENCE_MS = 30_000

interface Fleet {
  readonly world: World
  readonly proxy: PostgresProxy
  readonly workers: WorkerProcess[]
}

export async function schedules({ seed, scale }: ChaosOptions): Promise<Verdict> {
  const world = await createWorld({ config: CONFIG, maxConnections: 5 })
  const proxy = await startPostgresProxy(world.postgres.url)
  const wrong: string[] = []
  const rounds = Math.max(1, Math.round(SCHEDULES * scale))
  let unclaimedMs = 0
  try {
    const fleet: Fleet = { world, proxy, workers: [] }
    for (const place of CLOCKS_MS.keys()) fleet.workers[place] = await startAt(fleet, place)
    for (let round = 0; round < rounds; round += 1) {
      const result = await oneSchedule(fleet, seed + round)
      wrong.push(...result.wrong)
      unclaimedMs = Math.max(unclaimedMs, result.unclaimedMs)
    }
    const late = writesAfterLostLease(world.effects())
    const died = fleet.workers.filter((worker) => !worker.isAlive()).length
    return {
      goal: 'R2',
      figure: wrong.length,
      target: `items that end elsewhere than the model = 0; due and unclaimed <= ${2 * SWEEP_MS} ms`,
      ok: wrong.length === 0 && late.begun.length === 0 && died === 0 && unclaimedMs <= 2 * SWEEP_MS,
      schedules: rounds,
      items: rounds * ITEMS,
      longest_unclaimed_ms: Math.round(unclaimedMs),
      writes_begun_after_lost_lease: late.begun.length,
      writes_that_landed_after_lost_lease: late.landed.length,
      late_writes: [...late.begun, ...late.landed].slice(0, 3),
      processes_that_ended: died,
      wrong: wrong.slice(0, 5),
    }
  } finally {
    await world.close()
    await proxy.close()
  }
}

/** One process for each clock; its wake-ups come through the proxy. */
function startAt({ world, proxy }: Fleet, place: number): Promise<WorkerProcess> {
  return world.start({ clockShiftMs: CLOCKS_MS[place] ?? 0, listenUrl: proxy.url })
}

async function oneSchedule(fleet: Fleet, seed: number): Promise<{ wrong: readonly string[]; unclaimedMs: number }> {
  const random = createRandom(seed)
  const plans = numbered(ITEMS, `seed-${seed}`).map((name) => drawPlan(random, name))
  const watch = watchUnclaimed(fleet.world.postgres)
  const callers = plans.map((plan) => follow(fleet, plan, createRandom(random.below(2 ** 31))))
  for (let fault = 0; fault < FAULTS; fault += 1) {
    await delay(random.below(1_000))
    await watch.during(() => inject(fleet, random))
  }
  await Promise.all(callers)
  const differences = async () => (await Promise.all(plans.map((plan) => difference(fleet.world, plan)))).flat()
  await until(async () => (await differences()).length === 0, END_PATIENCE_MS)
  return { wrong: await differences(), unclaimedMs: await watch.stop() }
}

async function inject(fleet: Fleet, random: Random): Promise<void> {
  const { world, workers, proxy } = fleet
  const place = random.below(workers.length)
  const worker = workers[place]
  if (worker === undefined) return
  switch (random.pick(['kill', 'pause', 'backends', 'restart', 'exhaust', 'deaf'])) {
    case 'kill':
      await worker.kill()
      workers[place] = await startAt(fleet, place)
      break
    case 'pause':
      worker.pause()
      await delay(LEASE_MS * 1.5)
      worker.resume()
      break
    case 'backends':
      await world.postgres.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname is not null',
      )
      break
    case 'restart':
      await world.postgres.kill('immediate')
      await world.postgres.start()
      break
    case 'exhaust':
      // It may be refused itself, by a fault that is not over.
      await worker.exhaust(1_500).catch(() => {})
      break
    case 'deaf':
      proxy.swallowsNotifications = true
      await delay(1_500)
      proxy.swallowsNotifications = false
      break
  }
}

/** A caller: one step after the other, each again and again until some process has answered it. */
async function follow(fleet: Fleet, plan: Plan, random: Random): Promise<void> {
  let id = ''
  for (const step of plan.steps) {
    const done = await until(async () => {
      const worker = fleet.workers[random.below(fleet.workers.length)]
      if (worker === undefined || !worker.isAlive()) return false
      id = (await take(worker, plan.name, id, step)) ?? id
      return true
    }, STEP_PATIENCE_MS)
    if (!done) throw new Error(`${plan.name}: nobody answered ${step.kind}`)
    await delay(random.below(200))
  }
}

/** Answers the id of the item that a submission made or met. */
async function take(worker: WorkerProcess, name: string, id: string, step: Step): Promise<string | null> {
  switch (step.kind) {
    case 'submit':
      return (await worker.submit(name, step.text)).id
    case 'event': {
      const deliver = () => worker.ingest({ id: step.id, names: [name] }, step.ageMs)
      await Promise.all(step.twice ? [deliver(), deliver()] : [deliver()])
      return null
    }
    case 'cancel':
    case 'retry':
      // The first answer may have been lost: then it has had its effect.
      await worker[step.kind](id).catch((error: unknown) => {
        if (!(error instanceof CallFailed) || !/^not_(cancell|retry)able$/.test(error.code)) throw error
      })
      return null
  }
}

/** In words, how the newest life of the errand differs from where it must end. */
async function difference(world: World, plan: Plan): Promise<readonly string[]> {
  const expected = endOf(plan)
  const [row] = await world.postgres.query(
    `select phase, done_text,
            (select coalesce(array_agg(variant), '{}') from work_item_statuses s
             where s.work_item_id = work_items.id and dimension = 'needs_check' and status = 'false') as checked,
            (select count(*)::int from pending_events e where e.work_item_id = work_items.id) as pending
     from work_items join errand_details on work_item_id = id
     where dedup_key = $1
     order by generation desc
     limit 1`,
    [`errand:${plan.name}`],
  )
  const checked = Array.isArray(row?.['checked']) ? row['checked'] : []
  const missing = expected.events.filter((event) => !checked.includes(event))
  const differences: string[] = []
  if (row?.['phase'] !== expected.phase) differences.push(`is ${String(row?.['phase'])}, not ${expected.phase}`)
  if (expected.phase !== 'failed' && expected.phase !== 'cancelled') {
    if (row?.['done_text'] !== expected.doneText) differences.push(`did ${String(row?.['done_text'])} last`)
    if (missing.length > 0) differences.push(`lacks ${missing.join(', ')}`)
  }
  if (expected.phase === 'active' && row?.['pending'] !== 0)
    differences.push(`has ${String(row?.['pending'])} events left`)
  return differences.map((text) => `${plan.name} ${text}`)
}
