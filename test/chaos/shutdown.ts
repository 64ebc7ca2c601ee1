/**
 * R9: SIGTERM under load. The stopping process lets short actions finish, interrupts long ones after its grace period and
 * gives its leases back, so that another process has them within a second although the lease is thirty; nothing is written
 * twice. The same while a session of somebody else is idle in a transaction that holds the row of one of the items.
 */
import { errandText } from './support/chaos-errand.ts'
import type { Effect } from './support/journal.ts'
import { now } from './support/journal.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'
import { createWorld, inParallel, numbered, until, type World } from './support/world.ts'

const GRACE_MS = 1_000
const PICKUP_MS = 1_000
const EXIT_MS = 60_000
const LONG = 5
const LONG_MS = 8_000

interface Stop {
  readonly exitCode: number | null
  readonly exitMs: number
  /** From the interruption of an action to its next begin elsewhere, the slowest. */
  readonly pickupMs: number
  readonly writtenTwice: number
  readonly unfinished: number
}

export async function shutdown({ scale }: ChaosOptions): Promise<Verdict> {
  const plain = await stopUnderLoad(Math.ceil(200 * scale), false)
  const blocked = await stopUnderLoad(Math.ceil(200 * scale), true)
  const fine = (stop: Stop) =>
    stop.exitCode === 0 &&
    stop.exitMs <= EXIT_MS &&
    stop.pickupMs <= PICKUP_MS &&
    stop.writtenTwice === 0 &&
    stop.unfinished === 0
  return {
    goal: 'R9',
    figure: Math.round(Math.max(plain.pickupMs, blocked.pickupMs)),
    target: `ms until others pick up <= ${PICKUP_MS}; exit 0 within ${EXIT_MS} ms; nothing written twice`,
    ok: fine(plain) && fine(blocked),
    plain,
    with_a_session_idle_in_transaction: blocked,
  }
}

async function stopUnderLoad(items: number, withBlocker: boolean): Promise<Stop> {
  const world = await createWorld({ config: { shutdown_grace: `${GRACE_MS}ms` } })
  try {
    const stopping = await world.start()
    const other = await world.start({ works: false })
    const short = numbered(items, 'short')
    const load = inParallel(short, 10, (name) => other.submit(name, errandText('finish', 100)))
    const long = numbered(LONG, 'long')
    for (const name of long) await stopping.submit(name, errandText('finish', LONG_MS))
    await until(() => long.every((name) => has(world, name, stopping.name, 'begin')))
    await world.start()
    const blocker = withBlocker ? await lockRow(world, long[0] ?? '') : null

    const askedAt = now()
    const exitCode = await stopping.terminate(EXIT_MS)
    const exitMs = Math.round(now() - askedAt)
    await blocker?.end()
    await load
    // The item whose row is held cannot be given back; it comes when its lease is over.
    const free = long.slice(withBlocker ? 1 : 0)
    await until(() => free.every((name) => world.effects().some((e) => isPickup(e, name, stopping.name))), 15_000)
    const active = () => world.count("select count(*) from work_items where phase = 'active'")
    await until(async () => (await active()) === 0)
    const pickups = free.map((name) => pickupMs(world, name, stopping.name))
    return {
      exitCode,
      exitMs,
      pickupMs: Math.max(...pickups),
      // What was done to the item whose row is held could not be recorded, so it is done again.
      writtenTwice: writtenTwice(world.effects().filter(({ item }) => !withBlocker || item !== long[0])),
      unfinished: await active(),
    }
  } finally {
    await world.close()
  }
}

async function lockRow(world: World, name: string): Promise<{ end(): Promise<void> }> {
  const session = await world.postgres.session()
  await session.query('begin')
  await session.query('select from work_items where dedup_key = $1 for update', [`errand:${name}`])
  return session
}

function isPickup(effect: Effect, name: string, stopped: string): boolean {
  return effect.item === name && effect.worker !== stopped && effect.what === 'begin'
}

function has(world: World, name: string, worker: string, what: Effect['what']): boolean {
  return world.effects().some((effect) => effect.item === name && effect.worker === worker && effect.what === what)
}

function pickupMs(world: World, name: string, stopped: string): number {
  const abort = world
    .effects()
    .find(({ item, worker, what }) => item === name && worker === stopped && what === 'abort')
  const pickup = world.effects().find((effect) => isPickup(effect, name, stopped))
  if (abort === undefined || pickup === undefined) return Number.MAX_SAFE_INTEGER
  return Math.round(pickup.at - abort.at)
}

function writtenTwice(effects: readonly Effect[]): number {
  const writes = effects.filter(({ what }) => what === 'write').map(({ item }) => item)
  return writes.length - new Set(writes).size
}
