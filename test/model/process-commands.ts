/** What may happen to processes: they begin, sweep, stop, die, and lose their leases to one another. */
import { command, finishPause, type ModelCommand, pick } from './commands.ts'
import { isDue } from './item.ts'
import { describeText, type Model, type ModelPause, type ProcessState } from './model.ts'
import { type Ending, MAX_ATTEMPTS } from './work.ts'
import type { World } from './world.ts'

const MOST_WORKING = 3

/** A look may be taken up by the many events of one item; then what lies behind them is found by the next. */
async function sweepBy(process: ProcessState, model: Model, world: World): Promise<void> {
  for (let looks = 0; looks <= model.items.size; looks += 1) {
    // A manager that is started, or started again, sweeps at once.
    world.process(process.index).test.manager.start()
    await model.sync(world)
    if (model.isSwept(process)) return
  }
  throw new Error(`sweeps have forgotten ${model.all().filter(isDue).map(describeText).join()}`)
}

export function sweep(which: number): ModelCommand {
  return command(
    `sweep(${which})`,
    (model) => pick(model.working(), which),
    async (process, model, world) => {
      await sweepBy(process, model, world)
    },
  )
}

/** A lease runs out while its holder waits, and another process takes the item over. */
export function takeOver(which: number): ModelCommand {
  return command(
    `takeOver(${which})`,
    (model) => {
      const pause = pick(
        [...model.pauses.values()].filter((candidate) => model.holds(candidate)),
        which,
      )
      const other = model.working().find(({ index }) => index !== pause?.process)
      return pause === undefined || other === undefined ? undefined : { pause, other }
    },
    async ({ pause, other }, model, world) => {
      await world.expireLease(pause.itemId)
      model.expire(model.item(pause.itemId))
      await sweepBy(other, model, world)
    },
  )
}

/** The outside world is away for two tries in a row, and for long. */
export function outage(which: number): ModelCommand {
  const isAct = (pause: ModelPause, model: Model) => pause.pause.kind === 'action' && model.holds(pause)
  return command(
    `outage(${which})`,
    (model) => {
      const pause = pick(
        [...model.pauses.values()].filter((candidate) => isAct(candidate, model)),
        which,
      )
      const [process] = model.working()
      return pause === undefined || process === undefined ? undefined : { itemId: pause.itemId, process }
    },
    async ({ itemId, process }, model, world) => {
      for (let tries = 0; tries < 2; tries += 1) {
        const pause = [...model.pauses.values()].find((found) => found.itemId === itemId && isAct(found, model))
        if (pause === undefined) return
        await finishPause(pause, 'transient', 'lives', model, world)
        await model.sync(world)
        await world.passTime()
        model.passTime()
        await sweepBy(process, model, world)
      }
    },
  )
}

export function startProcess(isPatient: boolean): ModelCommand {
  return command(
    `startProcess(${isPatient ? 'patient' : 'impatient'})`,
    (model) => (model.working().length < MOST_WORKING ? true : undefined),
    async (_, model, world) => void (await begin(isPatient, model, world)),
  )
}

export async function begin(isPatient: boolean, model: Model, world: World): Promise<ProcessState> {
  const { index } = world.addProcess(isPatient)
  const process: ProcessState = { index, isPatient, state: 'working' }
  model.processes.push(process)
  await sweepBy(process, model, world)
  return process
}

export function stopProcess(ending: Ending, which: number): ModelCommand {
  return command(
    `stopProcess(${ending}, ${which})`,
    (model) => pick(model.working(), which),
    async (process, model, world) => {
      process.state = 'stopping'
      const stopped = world.process(process.index).test.manager.stop()
      await world.quiet()
      if (!process.isPatient) await interruptActions(process, model, world)
      for (const pause of model.pausesOf(process.index)) {
        await finishPause(pause, ending, 'lives', model, world)
        await model.sync(world)
      }
      await stopped
      process.state = 'stopped'
    },
  )
}

async function interruptActions(process: ProcessState, model: Model, world: World): Promise<void> {
  const actions = model.pausesOf(process.index).filter(({ pause }) => pause.kind === 'action')
  await Promise.all(actions.map(({ number }) => world.pauses.get(number)?.gone))
  for (const pause of actions) model.interrupt(pause)
  await model.sync(world)
}

export function crash(which: number): ModelCommand {
  return command(
    `crash(${which})`,
    (model) => pick(model.working(), which),
    async (process, model, world) => {
      await world.bury(world.process(process.index))
      model.crash(process)
    },
  )
}

/** Processes die over an item, one after the other, and new ones take it over. */
export function crashAll(which: number): ModelCommand {
  return command(
    `crashAll(${which})`,
    (model) =>
      pick(
        [...model.pauses.values()].filter((candidate) => model.holds(candidate)),
        which,
      )?.itemId,
    async (itemId, model, world) => {
      for (let deaths = 0; deaths < MAX_ATTEMPTS; deaths += 1) {
        const pause = [...model.pauses.values()].find((found) => found.itemId === itemId && model.holds(found))
        const process = pause === undefined ? undefined : model.processes[pause.process]
        if (process === undefined || process.state !== 'working') return
        await world.bury(world.process(process.index))
        model.crash(process)
        await world.expireLease(itemId)
        model.expire(model.item(itemId))
        await begin(true, model, world)
      }
    },
  )
}
