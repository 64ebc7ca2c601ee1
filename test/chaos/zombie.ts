/**
 * R3: a worker is stopped (SIGSTOP), or keeps its own event loop busy, until its lease has passed and another process works
 * on the item. What it then finds out, and what it must not do any more: its executor sees the abort before its next
 * outside write, and nothing of it is committed, even where the executor was deaf and came to its end.
 */
import { errandText } from './support/chaos-errand.ts'
import type { Effect } from './support/journal.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'
import { createWorld, until, type World } from './support/world.ts'

const LEASE_MS = 1_500
/** The work takes longer than the lease, so that the first worker wakes up while the second is at it. */
const WORK_MS = 3 * LEASE_MS

interface Round {
  readonly aborted: boolean
  readonly lateWrites: number
  readonly commitsOfZombie: number
}

export async function zombie({ scale }: ChaosOptions): Promise<Verdict> {
  const world = await createWorld({ config: { lease: `${LEASE_MS}ms` } })
  const rounds: Round[] = []
  let deafCommits = 0
  try {
    for (let round = 1; round <= Math.max(1, 3 * scale); round += 1)
      rounds.push(await stopped(world, `stopped-${round}`))
    deafCommits = await deaf(world, 'deaf')
  } finally {
    await world.close()
  }
  const sum = (of: (round: Round) => number) => rounds.reduce((total, round) => total + of(round), 0)
  const commits = sum((round) => round.commitsOfZombie) + deafCommits
  const lateWrites = sum((round) => round.lateWrites)
  const aborted = rounds.every((round) => round.aborted)
  return {
    goal: 'R3',
    figure: commits,
    target: 'commits of a worker whose lease was retaken = 0, and its executor sees the abort',
    ok: commits === 0 && lateWrites === 0 && aborted,
    late_outside_writes: lateWrites,
    every_executor_saw_the_abort: aborted,
    rounds: rounds.length + 1,
  }
}

async function stopped(world: World, name: string): Promise<Round> {
  const [first, second] = await retakenLease(world, name, errandText('wait', WORK_MS), (worker) => worker.pause())
  first.resume()
  const of = (worker: string, what: Effect['what']) => seen(world, name, worker, what)
  const aborted = await until(() => of(first.name, 'abort') > 0, WORK_MS)
  const before = await row(world, name)
  await until(() => of(second.name, 'write') > 0, WORK_MS * 2)
  const lateWrites = of(first.name, 'write')
  // The epoch is the second worker's to the end: the first one's heartbeat and release have changed nothing.
  await until(async () => (await row(world, name)).doneText !== null)
  const after = await row(world, name)
  await Promise.all([first.kill(), second.kill()])
  return { aborted, lateWrites, commitsOfZombie: after.epoch === before.epoch && before.doneText === null ? 0 : 1 }
}

/** The deaf one: its event loop stands still, so no heartbeat goes out, and then its executor succeeds. */
async function deaf(world: World, name: string): Promise<number> {
  const busy = errandText('block', WORK_MS)
  const [first, second] = await retakenLease(world, name, busy, () => {})
  await until(() => seen(world, name, first.name, 'write') > 0, WORK_MS * 2)
  // Time enough for the refused commit: the second worker is busy for as long again.
  const committed = await until(async () => (await row(world, name)).phase !== 'active', LEASE_MS / 2)
  await Promise.all([first.kill(), second.kill()])
  return committed ? 1 : 0
}

type Pair = readonly [first: Awaited<ReturnType<World['start']>>, second: Awaited<ReturnType<World['start']>>]

/** Resolves when the second worker has begun what the first was at when `silence` fell upon it. */
async function retakenLease(
  world: World,
  name: string,
  text: string,
  silence: (worker: Pair[0]) => void,
): Promise<Pair> {
  const first = await world.start()
  // Not awaited: a busy event loop may answer only after the lease is gone.
  const submitted = first.submit(name, text).catch(() => {})
  await until(() => seen(world, name, first.name, 'begin') > 0)
  silence(first)
  const second = await world.start()
  if (!(await until(() => seen(world, name, second.name, 'begin') > 0, LEASE_MS * 5))) {
    throw new Error(`nobody took ${name} over`)
  }
  void submitted
  return [first, second]
}

function seen(world: World, name: string, worker: string, what: Effect['what']): number {
  return world.effects().filter((effect) => effect.item === name && effect.worker === worker && effect.what === what)
    .length
}

async function row(world: World, name: string): Promise<{ epoch: string; phase: string; doneText: string | null }> {
  const [found] = await world.postgres.query(
    `select lease_epoch, phase, done_text
     from work_items join errand_details on work_item_id = id
     where dedup_key = $1`,
    [`errand:${name}`],
  )
  const text = found?.['done_text']
  return {
    epoch: String(found?.['lease_epoch']),
    phase: String(found?.['phase']),
    doneText: typeof text === 'string' ? text : null,
  }
}
