/**
 * R10: twenty clients of two processes send events, each of which concerns ten of the same fifty items, in whatever order;
 * others change and retry the items meanwhile. PostgreSQL counts its deadlocks; there must be none, and nobody is refused.
 */
import { errandText } from './support/chaos-errand.ts'
import { createRandom, type Random } from './support/random.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'
import type { WorkerProcess } from './support/worker-process.ts'
import { createWorld, numbered, until } from './support/world.ts'

const HOT_ITEMS = 50
const CLIENTS = 20
const EVENT_ITEMS = 10
const SECONDS = 60

export async function hotItems({ seed, scale }: ChaosOptions): Promise<Verdict> {
  const world = await createWorld()
  try {
    const pair = [await world.start(), await world.start()]
    const [clerk] = pair
    const names = numbered(HOT_ITEMS, 'hot')
    const ids: string[] = []
    for (const name of names) if (clerk !== undefined) ids.push((await clerk.submit(name, errandText('wait'))).id)
    const end = performance.now() + SECONDS * 1_000 * scale
    const errors: string[] = []
    let events = 0
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      const random = createRandom(seed + client)
      const worker = pair[client % pair.length]
      for (let turn = 1; worker !== undefined && performance.now() < end; turn += 1) {
        await act(worker, random, `${client}-${turn}`, names, ids).catch((error: unknown) => errors.push(String(error)))
        events += 1
      }
    })
    await Promise.all(clients)
    const deadlocks = () => world.count('select sum(deadlocks) from pg_stat_database')
    const pending = () => world.count('select count(*) from pending_events')
    const drained = await until(async () => (await pending()) === 0, 120_000)
    return {
      goal: 'R10',
      figure: await deadlocks(),
      target: 'deadlocks = 0, no call fails, every event is applied',
      ok: (await deadlocks()) === 0 && errors.length === 0 && drained,
      calls: events,
      failed_calls: errors.length,
      errors: [...new Set(errors)].slice(0, 3),
      events_left: await pending(),
      dead_events: await world.count('select count(*) from pending_events where dead'),
    }
  } finally {
    await world.close()
  }
}

/** Nine times in ten an event, else a change or a retry. */
async function act(
  worker: WorkerProcess,
  random: Random,
  turn: string,
  names: readonly string[],
  ids: readonly string[],
): Promise<void> {
  const any = <T>(from: readonly T[]): T | undefined => from[random.below(from.length)]
  const kind = random.below(20)
  if (kind === 0) await worker.submit(any(names) ?? '', errandText('wait', 0, turn))
  else if (kind === 1) await worker.retry(any(ids) ?? '')
  else {
    const concerned = new Set(Array.from({ length: EVENT_ITEMS }, () => any(names) ?? ''))
    // A few variants an item: its dimensions stay as few as those of a real one.
    await worker.ingest({ id: `event-${turn}`, names: [...concerned], variant: `check-${kind % 3}` })
  }
}
