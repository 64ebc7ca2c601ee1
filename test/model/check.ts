/**
 * One run: two processes and a sequence of commands, and then the end, when everything is let go and time passes until nothing
 * is due any more. What must hold then is checked against what is stored and what the audit was told, not against the model.
 */
import fc from 'fast-check'
import { finishPause } from './commands.ts'
import { commands } from './draw.ts'
import { isDue } from './item.ts'
import { Model } from './model.ts'
import { begin } from './process-commands.ts'
import type { Holding } from './work.ts'
import { World, type WorldOptions } from './world.ts'

export interface CheckOptions extends WorldOptions {
  readonly runs: number
  readonly seed: number
  /** Where a failure should be told with the fewest commands; otherwise the first one will do. */
  readonly shrinks: boolean
}

export interface CheckResult {
  readonly failed: boolean
  readonly runs: number
  /** The commands, the seed and the difference. */
  readonly report: string
}

const MOST_ROUNDS = 40

export async function checkModel({ runs, seed, shrinks, ...options }: CheckOptions): Promise<CheckResult> {
  const property = fc.asyncProperty(fc.boolean(), fc.boolean(), commands, async (exits, events, sequence) => {
    const world = new World(options)
    const model = new Model()
    try {
      setHolding({ exits, events }, model, world)
      await begin(true, model, world)
      await begin(false, model, world)
      await fc.asyncModelRun(() => ({ model, real: world }), sequence)
      await settle(model, world)
      await checkEnd(model, world)
    } finally {
      await world.close()
    }
  })
  const details = await fc.check(property, {
    numRuns: runs,
    seed,
    endOnFailure: !shrinks,
    unbiased: true,
    includeErrorInReport: true,
  })
  const report = details.failed ? await fc.asyncDefaultReportMessage(details) : undefined
  return { failed: details.failed, runs: details.numRuns, report: report ?? '' }
}

function setHolding(holding: Holding, model: Model, world: World): void {
  Object.assign(model.holding, holding)
  Object.assign(world.holding, holding)
}

async function settle(model: Model, world: World): Promise<void> {
  setHolding({ exits: false, events: false }, model, world)
  for (let round = 1; round <= MOST_ROUNDS; round += 1) {
    for (const pause of [...model.pauses.values()]) {
      await finishPause(pause, 'succeed', 'lives', model, world)
      await model.sync(world)
    }
    await world.passTime()
    model.passTime()
    if (model.pauses.size === 0 && !model.all().some(isDue)) return
    await begin(true, model, world)
  }
  throw new Error(`something is still due after ${MOST_ROUNDS} rounds`)
}

async function checkEnd(model: Model, world: World): Promise<void> {
  const stored = [...(await world.observe()).values()]
  for (const item of stored) {
    const isLeft = item.actionable || item.lease !== 'none' || item.events.some(({ dead }) => !dead)
    const needs = item.dimensions.filter(({ needed }) => needed)
    const isUndone = item.done_text !== item.text || needs.length > 0
    if (item.phase === 'active' && (isLeft || isUndone)) throw new Error(`forgotten: ${JSON.stringify(item)}`)
  }
  const live = stored.filter(({ phase }) => phase === 'active' || phase === 'failed').map(({ name }) => name)
  if (new Set(live).size !== live.length) throw new Error(`two live items of one identity: ${live.join()}`)
  checkAudit(model, world)
}

/** Each event was applied once, or is dead. */
function checkAudit(model: Model, world: World): void {
  const told = new Map<string, string[]>()
  for (const { event_type, message = '', outcome = '' } of world.audit()) {
    if (event_type === 'event') told.set(message, [...(told.get(message) ?? []), outcome])
  }
  for (const [label, { outcome, audited }] of model.journal) {
    const outcomes = told.get(label) ?? []
    if (outcomes.join() !== (audited ? outcome : '')) {
      throw new Error(`${label} was ${outcomes.join() || 'never mentioned'}, and should have been ${outcome}`)
    }
    told.delete(label)
  }
  if (told.size > 0) throw new Error(`the audit knows more: ${JSON.stringify([...told])}`)
}
