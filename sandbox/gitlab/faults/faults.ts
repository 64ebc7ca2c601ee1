/**
 * The rules in force and the decision which of them a request meets. A rule's n-th decision follows from its seed and n
 * alone, whatever other rules and requests do in between: the same rules and seeds make the same schedule again.
 */
import { createHash } from 'node:crypto'
import { type FaultRule, type FaultRuleInput, matcherOf, readFaultRule } from './rule.ts'

/** A rule in force. The counts go on while it is held. */
export type Fault = FaultRule & {
  readonly id: number
  /** Requests it was asked about. */
  readonly matched: number
  /** Requests it hit. */
  readonly fired: number
}

export interface Faults {
  /** Puts a rule in force after those already there. Throws with the complaints by field when it is none. */
  add(rule: FaultRuleInput): Fault
  list(): readonly Fault[]
  /** False when there is no such rule. */
  remove(id: number): boolean
  clear(): void
}

export interface Plan {
  /** The sum of all delays that hit. */
  readonly delayMs: number
  /** What else happens; null: the request is carried out and answered. */
  readonly ending: Exclude<Fault, { kind: 'delay' }> | null
  /** Rules that want to know a fresh answer, to give it once it is old. */
  readonly remember: readonly Fault[]
}

export interface FaultPlanner extends Faults {
  /** Counts the request and says what happens to it. `isOld` tells whether a stale_read has anything to answer. */
  plan(method: string, path: string, isOld: (fault: Fault) => boolean): Plan
}

type Counted = Fault & { matched: number; fired: number }

/** The n-th number of a seed, from 0 to just below 1. */
function chance(seed: number, n: number): number {
  return createHash('sha256').update(`${seed} ${n}`).digest().readUInt32BE() / 2 ** 32
}

function draw(fault: Counted): boolean {
  fault.matched += 1
  if (fault.fired >= (fault.times ?? Number.POSITIVE_INFINITY)) return false
  if (chance(fault.seed, fault.matched) >= fault.probability) return false
  fault.fired += 1
  return true
}

export function createFaults(rules: readonly FaultRuleInput[] = []): FaultPlanner {
  let entries: { readonly fault: Counted; readonly concerns: ReturnType<typeof matcherOf> }[] = []
  let lastId = 0

  const faults: FaultPlanner = {
    add(input) {
      const rule = readFaultRule(input)
      lastId += 1
      const fault: Counted = { id: lastId, ...rule, matched: 0, fired: 0 }
      entries.push({ fault, concerns: matcherOf(rule) })
      return fault
    },
    list: () => entries.map(({ fault }) => fault),
    remove(id) {
      const before = entries.length
      entries = entries.filter(({ fault }) => fault.id !== id)
      return entries.length < before
    },
    clear() {
      entries = []
    },
    plan(method, path, isOld) {
      let delayMs = 0
      const remember: Fault[] = []
      for (const { fault, concerns } of entries) {
        if (!concerns(method, path)) continue
        if (fault.kind === 'stale_read') {
          if (method !== 'GET') continue
          remember.push(fault)
          if (!isOld(fault)) continue
        }
        if (!draw(fault)) continue
        if (fault.kind !== 'delay') return { delayMs, ending: fault, remember }
        delayMs += fault.ms
      }
      return { delayMs, ending: null, remember }
    },
  }
  for (const rule of rules) faults.add(rule)
  return faults
}
