/**
 * R5: an answer means durable. PostgreSQL is killed again and again while submissions and events pour in; afterwards
 * everything that was acknowledged must be there: the item, and the event as applied or still waiting.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { errandText } from './support/chaos-errand.ts'
import { createRandom } from './support/random.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'
import type { WorkerProcess } from './support/worker-process.ts'
import { createWorld, until, type World } from './support/world.ts'

const KILLS = 20
const LANES = 8
const LOAD_PATIENCE_MS = 5_000

interface Acknowledged {
  readonly items: Set<string>
  /** Event and item, `event item-id`. */
  readonly events: Set<string>
}

export async function durability({ seed, scale }: ChaosOptions): Promise<Verdict> {
  const random = createRandom(seed)
  const world = await createWorld()
  const acknowledged: Acknowledged = { items: new Set(), events: new Set() }
  const kills = Math.max(2, Math.round(KILLS * scale))
  try {
    const workers = [await world.start(), await world.start()]
    const load = { on: true }
    const lanes = Array.from({ length: LANES }, (_, lane) => {
      const worker = workers[lane % workers.length]
      if (worker === undefined) throw new Error('there is no worker')
      return pour(worker, lane, acknowledged, load)
    })
    for (let kill = 0; kill < kills; kill += 1) {
      // In the middle of the load, however fast the machine is.
      const goal = acknowledged.items.size + 10 + random.below(100)
      await until(() => acknowledged.items.size >= goal, LOAD_PATIENCE_MS)
      await world.postgres.kill(kill % 2 === 0 ? 'immediate' : 'crash')
      await delay(random.below(200))
      await world.postgres.start()
    }
    load.on = false
    await Promise.all(lanes)
    const missing = await findMissing(world, acknowledged)
    return {
      goal: 'R5',
      figure: missing.length,
      target: 'acknowledged submissions and events that are missing = 0',
      ok: missing.length === 0 && acknowledged.items.size > 0 && workers.every((worker) => worker.isAlive()),
      kills,
      acknowledged_submissions: acknowledged.items.size,
      acknowledged_events: acknowledged.events.size,
      workers_alive: workers.filter((worker) => worker.isAlive()).length,
      missing: missing.slice(0, 5),
    }
  } finally {
    await world.close()
  }
}

/** One submission and one event at a time. What fails was not acknowledged, and nothing is promised about it. */
async function pour(
  worker: WorkerProcess,
  lane: number,
  acknowledged: Acknowledged,
  load: { readonly on: boolean },
): Promise<void> {
  for (let turn = 1; load.on; turn += 1) {
    const name = `lane-${lane}-${turn}`
    try {
      const { id } = await worker.submit(name, errandText('wait'))
      acknowledged.items.add(id)
      const owners = await worker.ingest({ id: `event-${name}`, names: [name] })
      for (const owner of owners) acknowledged.events.add(`event-${name} ${owner}`)
    } catch {
      await delay(20)
    }
  }
}

async function findMissing(world: World, { items, events }: Acknowledged): Promise<readonly string[]> {
  const found = new Set<unknown>()
  const rows = await world.postgres.query(`
    select id::text as what from work_items
    union all select (body->>'id') || ' ' || work_item_id from pending_events
    union all select variant || ' ' || work_item_id from work_item_statuses where dimension = 'needs_check'`)
  for (const { what } of rows) found.add(what)
  return [...items, ...events].filter((expected) => !found.has(expected))
}
