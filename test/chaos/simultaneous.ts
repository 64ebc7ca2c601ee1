/**
 * R7: callers who do the same thing at the same time, over two processes. Fifty identical submissions make one item; fifty
 * retries of one failed item revive it once; a submission that meets the end of the item it changes is never lost and
 * never refused. Whoever is refused is told why, with a code.
 */
import { errandText } from './support/chaos-errand.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'
import { CallFailed, type WorkerProcess } from './support/worker-process.ts'
import { createWorld, until, type World } from './support/world.ts'

const AT_ONCE = 50
const RACES = 100

export async function simultaneous({ scale }: ChaosOptions): Promise<Verdict> {
  const world = await createWorld({ config: { max_attempts: 1 } })
  const problems: string[] = []
  try {
    const pair = [await world.start(), await world.start()]
    const either = (index: number): WorkerProcess => {
      const worker = pair[index % pair.length]
      if (worker === undefined) throw new Error('there is no worker')
      return worker
    }
    problems.push(...(await sameSubmission(world, either)))
    problems.push(...(await sameRetry(world, either)))
    for (let race = 1; race <= RACES * scale; race += 1) problems.push(...(await raceWithTheEnd(world, either, race)))
  } finally {
    await world.close()
  }
  return {
    goal: 'R7',
    figure: problems.length,
    target: `problems in ${AT_ONCE} identical submissions, ${AT_ONCE} retries and ${RACES} races with the end = 0`,
    ok: problems.length === 0,
    problems: problems.slice(0, 5),
  }
}

type Either = (index: number) => WorkerProcess

async function allAtOnce<T>(act: (index: number) => Promise<T>): Promise<{ done: readonly T[]; errors: string[] }> {
  const settled = await Promise.allSettled(Array.from({ length: AT_ONCE }, (_, index) => act(index)))
  const done = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const errors = settled.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []))
  return { done, errors }
}

async function sameSubmission(world: World, either: Either): Promise<readonly string[]> {
  const { done, errors } = await allAtOnce((index) => either(index).submit('same', errandText('wait')))
  const created = done.filter(({ outcome }) => outcome === 'created').length
  const ids = new Set(done.map(({ id }) => id))
  const items = await world.count("select count(*) from work_items where dedup_key = 'errand:same'")
  if (created === 1 && ids.size === 1 && items === 1) return errors
  return [...errors, `${created} of ${AT_ONCE} created ${items} items with ${ids.size} ids`]
}

async function sameRetry(world: World, either: Either): Promise<readonly string[]> {
  const { id } = await either(0).submit('failing', errandText('throw'))
  if (!(await until(() => inPhase(world, id, 'failed'), 10_000))) return ['the failing item does not fail']
  const { errors } = await allAtOnce((index) => either(index).retry(id))
  if (!(await until(() => inPhase(world, id, 'failed'), 10_000))) return [...errors, 'the retried item does not end']
  const lives = await world.count("select count(*) from work_items where dedup_key = 'errand:failing'")
  // Each retry that came after an end begins another run; that they revived one item is what counts.
  return lives === 1 ? errors : [...errors, `${lives} items after the retries`]
}

/** The item completes at once; meanwhile its caller submits something else. That must come to be, in this life or the next. */
async function raceWithTheEnd(world: World, either: Either, race: number): Promise<readonly string[]> {
  const name = `race-${race}`
  const [first, second] = [errandText('finish', 0, 'first'), errandText('finish', 0, 'second')]
  try {
    await either(race).submit(name, first)
    await either(race + 1).submit(name, second)
  } catch (error) {
    return [error instanceof CallFailed ? error.message : String(error)]
  }
  const done = await until(() => doneWith(world, name, second), 10_000)
  return done ? [] : [`${name} ended without its last submission`]
}

async function inPhase(world: World, id: string, phase: string): Promise<boolean> {
  const rows = await world.postgres.query('select from work_items where id = $1 and phase = $2', [id, phase])
  return rows.length === 1
}

async function doneWith(world: World, name: string, text: string): Promise<boolean> {
  const rows = await world.postgres.query(
    `select from work_items join errand_details on work_item_id = id
     where dedup_key = $1 and phase = 'completed' and done_text = $2`,
    [`errand:${name}`, text],
  )
  return rows.length === 1
}
