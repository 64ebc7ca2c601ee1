/**
 * Explores every schedule of a scenario, depth first. What a statement does is PostgreSQL's answer, what an actor does next is
 * the queue's own code; only the order is made up here, and every order is. A state that was met before is not explored
 * again: its schedules are counted.
 */
import type { AfterEvent, Role } from './actors.ts'
import { faultOf, openAfterwards } from './invariants.ts'
import { beginLife } from './lives.ts'
import { openMeasure } from './measure.ts'
import { after, Forbidden, isAtRest, keyOf, type State, type Step, stepsFrom } from './state.ts'

export interface Scenario {
  readonly actors: readonly { readonly role: Role; readonly name: string }[]
  readonly afterEvent: AfterEvent
  readonly expiries: number
  /** Plants a bug: changes the text of a statement. */
  readonly rewrite?: (text: string) => string
}

export interface Exploration {
  /** What was found to be wrong, and how it comes to that; null = nothing. */
  readonly counterexample: { readonly fault: string; readonly schedule: readonly string[] } | null
  /** False: a fault was found, or the time was up, before all was explored. */
  readonly isComplete: boolean
  /** Schedules that are the same but for when a statement began, with nothing committed in between, count as one. */
  readonly schedules: bigint
  readonly states: number
  /** Steps of the longest schedule. */
  readonly longest: number
  /** Situations of statements that were put to PostgreSQL. */
  readonly situations: number
  readonly seconds: number
}

class Found extends Error {}
class TimeIsUp extends Error {}

export async function explore(url: string, scenario: Scenario, budgetMs: number): Promise<Exploration> {
  const { actors, afterEvent, expiries, rewrite = (text) => text } = scenario
  const startedAt = performance.now()
  const measure = await openMeasure(url, rewrite)
  const inserters = actors.filter(({ role }) => role === 'inserter').map(({ name }) => name)
  const afterwards = openAfterwards(url, afterEvent, inserters)
  const known = new Map<string, bigint>()
  const trail: string[] = []
  let longest = 0

  /** How many schedules there are from here. */
  async function schedulesFrom(state: State): Promise<bigint> {
    const key = keyOf(state)
    const before = known.get(key)
    if (before !== undefined) return before
    if (performance.now() - startedAt > budgetMs) throw new TimeIsUp()
    if (isAtRest(state)) check(faultOf(state))
    longest = Math.max(longest, trail.length)
    let schedules = 0n
    if (state.members.every(({ life }) => life.parked === null)) {
      check(await afterwards.faultAtEnd(state))
      schedules = 1n
    } else {
      for (const step of stepsFrom(state)) schedules += await schedulesAfter(state, step)
    }
    known.set(key, schedules)
    return schedules
  }

  async function schedulesAfter(state: State, step: Step): Promise<bigint> {
    const { length } = trail
    trail.push(...describe(state, step))
    const schedules = await schedulesFrom(await after(state, step, measure))
    trail.length = length
    return schedules
  }

  let counterexample: Exploration['counterexample'] = null
  let schedules = 0n
  let isComplete = false
  try {
    const lives = actors.map(({ role, name }) => beginLife({ role, name, afterEvent }))
    const members = (await Promise.all(lives)).map((life, index) => {
      return { name: actors[index]?.name ?? '', life, start: null, waits: false, open: null }
    })
    schedules = await schedulesFrom({ committed: await measure.look(), clockMs: 0, expiries, members })
    isComplete = true
  } catch (error) {
    if (error instanceof Found || error instanceof Forbidden) {
      counterexample = { fault: error.message, schedule: [...trail] }
    } else if (!(error instanceof TimeIsUp)) throw error
  } finally {
    await measure.close()
    await afterwards.close()
  }
  const seconds = Math.round(performance.now() - startedAt) / 1_000
  return {
    counterexample,
    isComplete,
    schedules,
    states: known.size,
    longest,
    situations: measure.measured(),
    seconds,
  }
}

function check(fault: string | null): void {
  if (fault !== null) throw new Found(fault)
}

function describe({ members }: State, step: Step): readonly string[] {
  const say = (index: number, verb: string) => {
    const member = members[index]
    const parked = member?.life.parked
    const text = parked?.kind === 'statement' ? parked.text : ''
    const what = NAMES.find(([part]) => text.includes(part))?.[1] ?? 'its transaction'
    return `${member?.name} ${verb} ${what}`
  }
  if (step.kind === 'work') return [say(step.member, 'does')]
  const begun = step.begun.map((index) => say(index, 'has begun'))
  return [...begun, step.kind === 'expire' ? 'the lease runs out' : say(step.member, 'commits')]
}

/** What a statement is called in a printed schedule, by a part of its text. */
const NAMES: readonly (readonly [part: string, name: string])[] = [
  ['with_events as materialized', 'the sweep'],
  ['lease_epoch = lease_epoch + 1', 'the claim'],
  ['insert into pending_events', 'the storing of its event'],
  ['delete from pending_events', 'the record of an event'],
  ['input.rests', 'the record of an action'],
  ['set actionable = false', 'the exit'],
  ['set leased_until = null', 'the release'],
  ['revision = revision + 1', 'the write of a caller'],
  ['insert into work_item_statuses', 'the dimensions of a caller'],
  ['from work_items', 'a look'],
]
