/**
 * What may happen, to the model and to the world. A number called `which` chooses among those there are at that moment, so that
 * a sequence keeps its meaning when fast-check leaves commands out of it.
 */
import type fc from 'fast-check'
import { WorkQueueError } from '../../src/lib/errors.ts'
import type { EventKind, ModelItem } from './item.ts'
import type { Fate, Model, ModelPause } from './model.ts'
import type { Ending } from './work.ts'
import type { World } from './world.ts'

export type ModelCommand = fc.AsyncCommand<Model, World>

/** A command that applies where `find` finds something to apply to. */
export function command<Found>(
  title: string,
  find: (model: Model) => Found | undefined,
  run: (found: Found, model: Model, world: World) => Promise<void>,
): ModelCommand {
  return {
    check: (model) => find(model as Model) !== undefined,
    async run(model, world) {
      const found = find(model)
      if (found === undefined) return
      await run(found, model, world)
      await model.sync(world)
    },
    toString: () => title,
  }
}

export function pick<T>(candidates: readonly T[], which: number): T | undefined {
  return candidates[which % Math.max(1, candidates.length)]
}

export function submit(name: string, text: string, which: number): ModelCommand {
  return command(
    `submit(${name}, ${text}, door ${which})`,
    (model) => pick(model.doors(), which),
    ({ index }, model, world) => send(name, text, index, model, world),
  )
}

/** A caller has changed their mind about what somebody is at work on, or better still: is just done with. */
export function change(which: number): ModelCommand {
  return command(
    `change(${which})`,
    (model) => somebodyAtWork(model, which),
    async ({ itemId }, model, world) => {
      const { name, text } = model.item(itemId)
      await send(name, text === 'one' ? 'two' : 'one', 0, model, world)
    },
  )
}

/** Whoever is held up at a statement rather than in an action: there fewer commands matter. */
function somebodyAtWork(model: Model, which: number): ModelPause | undefined {
  const all = [...model.pauses.values()]
  const atStatement = all.filter(({ pause }) => pause.kind !== 'action')
  return pick(atStatement.length > 0 ? atStatement : all, which)
}

async function send(name: string, text: string, door: number, model: Model, world: World): Promise<void> {
  const { queue } = world.process(door).test
  const { outcome, item } = await queue.submit('errand', { item_type: 'errand', name, text }, 'caller')
  const expected = model.submit(name, text)
  if (outcome !== expected) throw new Error(`the submission was ${outcome}, not ${expected}`)
  if (expected === 'created') model.create(item.id, name, text)
}

export interface Delivery {
  readonly name: string
  readonly kind: EventKind
  readonly variant: string
  readonly time: 1 | 2 | 'soon' | 'far ahead'
  readonly source: 'its own' | 'none' | 'first' | 'second'
}

export function ingest(delivery: Delivery, which: number): ModelCommand {
  return command(
    `ingest(${Object.values(delivery).join(' ')}, door ${which})`,
    (model) => pick(model.doors(), which),
    ({ index }, model, world) => deliver(delivery, index, model, world),
  )
}

/** Events for somebody at work: one, or more than a worker reads at a time. */
export function interrupt(events: number, which: number): ModelCommand {
  return command(
    `interrupt(${events}, ${which})`,
    (model) => somebodyAtWork(model, which),
    async ({ itemId }, model, world) => {
      const { name } = model.item(itemId)
      for (let sent = 0; sent < events; sent += 1) {
        await deliver({ name, kind: 'quiet', variant: '', time: 2, source: 'none' }, 0, model, world)
      }
    },
  )
}

/** An event without consequences for an item at rest: it is claimed, and goes back to rest. */
export function rouse(which: number): ModelCommand {
  return command(
    `rouse(${which})`,
    (model) => {
      const item = pick(
        model.all().filter(({ phase, actionable }) => phase === 'active' && !actionable),
        which,
      )
      const process = pick(model.working(), which)
      return item === undefined || process === undefined ? undefined : { item, process }
    },
    ({ item: { name }, process }, model, world) =>
      deliver({ name, kind: 'quiet', variant: '', time: 2, source: 'none' }, process.index, model, world),
  )
}

async function deliver(
  { name, kind, variant, time, source }: Delivery,
  door: number,
  model: Model,
  world: World,
): Promise<void> {
  const place = model.next()
  const label = `event-${place}`
  const sourceId = source === 'none' ? null : source === 'its own' ? label : source
  const found = model.all().find((item) => item.name === name && item.phase === 'active') ?? model.newest(name)
  const ids = await world.ingest(door, { name, label, kind, variant }, instantOf(time), sourceId)
  if (ids[0] !== found?.id) throw new Error(`the event was for ${ids.join()}, not for ${found?.id}`)
  if (found !== undefined) model.ingest(found, { label, kind, variant, at: orderOf(time, place), sourceId })
}

/** Far ahead is clamped to now; a few minutes ahead is a sender's clock, and later than any now of this run. */
function instantOf(time: Delivery['time']): Date {
  if (time === 'far ahead') return new Date(Date.now() + 86_400_000)
  if (time === 'soon') return new Date(Date.now() + 240_000)
  return new Date(Date.UTC(2026, 0, time))
}

function orderOf(time: Delivery['time'], place: number): number {
  if (time === 'far ahead') return 1_000 + place
  return time === 'soon' ? 1_000_000 + place : time
}

export function endStep(ending: Ending, fate: Fate, which: number): ModelCommand {
  return command(
    `endStep(${ending}, ${fate}, ${which})`,
    (model) => pick([...model.pauses.values()], which),
    (pause, model, world) => finishPause(pause, ending, fate, model, world),
  )
}

export async function finishPause(
  pause: ModelPause,
  ending: Ending,
  fate: Fate,
  model: Model,
  world: World,
): Promise<void> {
  const process = world.process(pause.process)
  if (fate === 'dies') process.dieAfterOutcome()
  // A held statement would be held once more, so only the outcome of an action is sent twice.
  if (fate === 'loses the answer' && pause.pause.kind === 'action') process.loseNextAnswer()
  world.letGo(pause.number, ending)
  await world.quiet()
  model.endPause(pause, ending, fate)
  const state = model.processes[pause.process]
  if (fate !== 'dies' || state === undefined) return
  await world.bury(process)
  model.crash(state)
}

function callerWrite(
  name: 'retry' | 'cancel',
  which: number,
  refusal: (item: ModelItem, model: Model) => string | null,
  wish: readonly [needed: readonly string[], cleared: readonly string[]],
): ModelCommand {
  return command(
    `${name}(${which})`,
    (model) => pick(model.all(), which),
    async (item, model, world) => {
      const { queue } = world.process(pick(model.doors(), which)?.index ?? 0).test
      const expected = refusal(item, model)
      const refused = await queue[name](item.id, 'caller').then(
        () => null,
        (error: unknown) => (error instanceof WorkQueueError ? error.code : String(error)),
      )
      if (refused !== expected) throw new Error(`${name} was refused as ${refused}, not as ${expected}`)
      if (refused === null) model.wake(item, ...wish)
    },
  )
}

export function retry(which: number): ModelCommand {
  const refusal = (item: ModelItem, model: Model) => {
    if (item.phase === 'completed') return 'not_retryable'
    const live = model.live(item.name)
    return live === undefined || live === item ? null : 'superseded'
  }
  return callerWrite('retry', which, refusal, [['needs_run'], ['needs_stop']])
}

export function cancel(which: number): ModelCommand {
  const refusal = ({ phase }: ModelItem) => (phase === 'active' || phase === 'failed' ? null : 'not_cancellable')
  return callerWrite('cancel', which, refusal, [['needs_stop'], []])
}

/** The lease of whoever waits runs out while they do. */
export function expireLease(which: number): ModelCommand {
  return command(
    `expireLease(${which})`,
    (model) =>
      pick(
        model.all().filter(({ lease }) => lease === 'valid'),
        which,
      ),
    async (item, model, world) => {
      await world.expireLease(item.id)
      model.expire(item)
    },
  )
}

export function heartbeat(which: number): ModelCommand {
  return command(
    `heartbeat(${which})`,
    (model) => pick([...model.pauses.values()], which),
    async (pause, model, world) => {
      const expected = model.holds(pause) ? 'extended' : 'lost'
      const [answer] = await world.heartbeat(pause.itemId, pause.epoch)
      if (answer !== expected) throw new Error(`the heartbeat was ${answer}, not ${expected}`)
      if (answer === 'extended') model.item(pause.itemId).lease = 'valid'
    },
  )
}

export function passWaits(which: number): ModelCommand {
  return command(
    `passWaits(${which})`,
    (model) => pick(model.all(), which),
    async (item, model, world) => {
      await world.passWaits(item.id)
      model.passWaits(item)
    },
  )
}

export function passTime(): ModelCommand {
  return command(
    'passTime()',
    () => true,
    async (_, model, world) => {
      await world.passTime()
      model.passTime()
    },
  )
}

/** From now on workers are held up right before they go to rest, or before they apply an event. */
export function hold(what: 'exits' | 'events', on: boolean): ModelCommand {
  return command(
    `hold(${what}, ${on})`,
    (model) => (model.holding[what] === on ? undefined : true),
    async (_, model, world) => {
      model.holding[what] = on
      world.holding[what] = on
    },
  )
}
