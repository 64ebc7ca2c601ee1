/**
 * R8: the same fleet behind PgBouncer in transaction mode, as it is installed, where no session survives a transaction: no
 * LISTEN, no advisory lock of a session, no prepared statement. A submission to one process is picked up by another within
 * 1.5 seconds, the workers say that they hear nothing, a backlog with events is worked off, and no call fails.
 */
import { messageOf } from '../../src/lib/errors.ts'
import { errandText } from './support/chaos-errand.ts'
import { now } from './support/journal.ts'
import { type PgBouncer, startPgBouncer } from './support/pgbouncer.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'
import { createWorld, inParallel, numbered, until, type World } from './support/world.ts'

const PICKUP_MS = 1_500
const PICKUPS = 20
const ITEMS = 300
const GOAL = { goal: 'R8', target: `slowest pickup <= ${PICKUP_MS} ms, every item and event done, no call fails` }

export async function pooler({ scale }: ChaosOptions): Promise<Verdict> {
  const world = await createWorld()
  try {
    const bouncer = await startPgBouncer(world.postgres.url, world.directory)
    if (bouncer === null) return { ...GOAL, figure: 'skipped: there is no /usr/sbin/pgbouncer', ok: true }
    try {
      return await behind(bouncer, world, scale)
    } finally {
      await bouncer.stop()
    }
  } finally {
    await world.close()
  }
}

async function behind({ url }: PgBouncer, world: World, scale: number): Promise<Verdict> {
  const { pickups, listening } = await measurePickups(world, url, Math.ceil(PICKUPS * scale))
  const { errors, unfinished } = await workOff(world, url, Math.ceil(ITEMS * scale))
  const slowest = Math.max(...pickups)
  return {
    ...GOAL,
    figure: slowest,
    ok: slowest <= PICKUP_MS && errors.length === 0 && unfinished === 0 && listening === 'lost',
    failed_calls: errors.length,
    errors: [...new Set(errors)].slice(0, 3),
    unfinished,
    listening,
  }
}

interface Pickups {
  readonly pickups: readonly number[]
  /** What the waiting worker says about itself. */
  readonly listening: string
}

async function measurePickups(world: World, url: string, times: number): Promise<Pickups> {
  const clerk = await world.start({ url, listenUrl: url, works: false })
  const worker = await world.start({ url, listenUrl: url })
  const waits: number[] = []
  for (const name of numbered(times, 'pickup')) {
    const submittedAt = now()
    await clerk.submit(name, errandText('finish'))
    const begin = () => world.effects().find(({ item, what }) => item === name && what === 'begin')
    await until(() => begin() !== undefined, 10_000)
    waits.push(Math.round((begin()?.at ?? Number.POSITIVE_INFINITY) - submittedAt))
  }
  const listening = await worker.listening()
  await Promise.all([clerk.kill(), worker.kill()])
  return { pickups: waits, listening }
}

async function workOff(world: World, url: string, items: number): Promise<{ errors: string[]; unfinished: number }> {
  const pair = [await world.start({ url, listenUrl: url }), await world.start({ url, listenUrl: url })]
  const errors: string[] = []
  await inParallel(numbered(items, 'load'), 20, async (name) => {
    const [first, second] = pair
    try {
      await first?.submit(name, errandText('wait', 10))
      await second?.ingest({ id: `event-${name}`, names: [name] })
    } catch (error) {
      errors.push(messageOf(error))
    }
  })
  const applied = () =>
    world.count("select count(*) from work_item_statuses where dimension = 'needs_check' and status = 'false'")
  await until(async () => (await applied()) === items)
  return { errors, unfinished: items - (await applied()) }
}
