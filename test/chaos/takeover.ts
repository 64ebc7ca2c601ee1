/**
 * R1: a worker is killed with -9 in the middle of its actions; how long until another process runs them? The lease is the
 * promise: what counts is how much later than one lease after the kill the last of them began again.
 */
import { queueConfigSchema } from '../../src/queue/config.ts'
import { errandText } from './support/chaos-errand.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'
import { createWorld, numbered, until, type World } from './support/world.ts'

const LEASE_MS = 3_000
const ALLOWED_MS = 1_500
const ITEMS = 5

export async function takeover({ scale }: ChaosOptions): Promise<Verdict> {
  const world = await createWorld({ config: { lease: `${LEASE_MS}ms` } })
  const lateMs: number[] = []
  try {
    for (let round = 1; round <= Math.max(1, 3 * scale); round += 1) lateMs.push(await oneKill(world, round))
  } finally {
    await world.close()
  }
  const worst = Math.max(...lateMs)
  const defaultLeaseMs = queueConfigSchema.parse({}).lease
  return {
    goal: 'R1',
    figure: Math.round(worst),
    target: `ms after one lease (${LEASE_MS} ms) <= ${ALLOWED_MS}; default lease 30 s`,
    ok: worst <= ALLOWED_MS && defaultLeaseMs === 30_000,
    rounds_ms: lateMs.map(Math.round),
    default_lease_ms: defaultLeaseMs,
  }
}

/** Answers how much later than a lease after the kill the last item ran again. */
async function oneKill(world: World, round: number): Promise<number> {
  const names = numbered(ITEMS, `round-${round}`)
  const doomed = await world.start()
  for (const name of names) await doomed.submit(name, errandText('finish', 60_000))
  const begun = (worker: string) =>
    world.effects().filter(({ what, item, worker: by }) => what === 'begin' && by === worker && names.includes(item))
  await until(() => begun(doomed.name).length === ITEMS)
  const heir = await world.start()
  const killedAt = await doomed.kill()
  await until(() => begun(heir.name).length === ITEMS, LEASE_MS * 5)
  const again = begun(heir.name)
  await heir.kill()
  await world.postgres.query('delete from work_items')
  if (again.length < ITEMS) return Number.POSITIVE_INFINITY
  return Math.max(...again.map(({ at }) => at)) - killedAt - LEASE_MS
}
