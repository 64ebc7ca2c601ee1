/**
 * R6: one fault after the other while a backlog is worked off. The rate of completions must be back at what it was within
 * five seconds of the end of each fault, and no process may end that was not killed. A killed one is started again, as any
 * supervisor does.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { errandText } from './support/chaos-errand.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'
import type { WorkerProcess } from './support/worker-process.ts'
import { createWorld, inParallel, numbered, type World } from './support/world.ts'

const CONFIG = { lease: '2s', workers: 10 }
const PROCESSES = 2
/** Long enough for the workers, and not the machine, to decide the rate. */
const WORK_MS = 250
/** Workers finish in step, twenty at a time: a short measure would be off by several per cent. */
const MEASURE_MS = 10_000
const RECOVERY_MS = 5_000
const NEEDED = 0.95
/** More than all measures together can work off, so that the workers are never idle. */
const BACKLOG = 13_000

type Fault = (world: World, fleet: WorkerProcess[]) => Promise<void>

const FAULTS: Readonly<Record<string, Fault>> = {
  async postgres_restart({ postgres }) {
    await postgres.kill('immediate')
    await delay(1_000)
    await postgres.start()
  },
  async backends_killed({ postgres }) {
    for (let round = 0; round < 5; round += 1) {
      await postgres.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'workqueue-service'",
      )
      await delay(200)
    }
  },
  async pool_exhausted(_world, fleet) {
    await Promise.all(fleet.map((worker) => worker.exhaust(3_000)))
  },
  async worker_killed(world, fleet) {
    await replace(world, fleet)
  },
  async repeated_kills(world, fleet) {
    for (let round = 0; round < 3; round += 1) {
      await replace(world, fleet)
      await world.postgres.kill(round % 2 === 0 ? 'crash' : 'immediate')
      await world.postgres.start()
      await delay(500)
    }
  },
}

export async function recovery(_options: ChaosOptions): Promise<Verdict> {
  const world = await createWorld({ config: CONFIG })
  const shares: Record<string, number> = {}
  try {
    const clerk = await world.start({ works: false })
    await inParallel(numbered(BACKLOG), 50, (name) => clerk.submit(name, errandText('finish', WORK_MS)))
    await clerk.kill()
    const fleet: WorkerProcess[] = []
    for (let index = 0; index < PROCESSES; index += 1) fleet.push(await world.start())
    await delay(1_000)
    for (const [name, fault] of Object.entries(FAULTS)) {
      const before = await completionRate(world)
      await fault(world, fleet)
      await delay(RECOVERY_MS)
      shares[name] = Math.round(((await completionRate(world)) / before) * 1_000) / 1_000
    }
    const worst = Math.min(...Object.values(shares))
    const alive = fleet.filter((worker) => worker.isAlive()).length
    return {
      goal: 'R6',
      figure: worst,
      target: `share of the completion rate 5 s after each fault >= ${NEEDED}; no process ends by itself`,
      ok: worst >= NEEDED && alive === PROCESSES,
      shares,
      processes_alive: alive,
      left_over: await world.count("select count(*) from work_items where phase = 'active'"),
    }
  } finally {
    await world.close()
  }
}

async function completionRate(world: World): Promise<number> {
  const completed = () => world.count("select count(*) from work_items where phase = 'completed'")
  const [before, from] = [await completed(), performance.now()]
  await delay(MEASURE_MS)
  return ((await completed()) - before) / (performance.now() - from)
}

async function replace(world: World, fleet: WorkerProcess[]): Promise<void> {
  const killed = fleet.shift()
  await killed?.kill()
  fleet.push(await world.start())
}
