/**
 * A state of a schedule and the steps out of it. A statement is three steps: it begins (and has its snapshot), it comes to
 * its locks and does its work, its transaction is committed. Others may do anything in between. A statement that meets a
 * locked row either passes over it or waits for the commit; of several that wait any may come first.
 */
import { LEASE_MS } from './actors.ts'
import { type Look, leaseState } from './held-clock.ts'
import type { Life } from './lives.ts'
import type { Effect, Measure, Start } from './measure.ts'
import { numberOf } from './numbers.ts'

export interface Member {
  readonly name: string
  readonly life: Life
  /** The statement has begun. */
  readonly start: Start | null
  /** It was met by a locked row: it goes on after the commit. */
  readonly waits: boolean
  /** What its open transaction has done. */
  readonly open: Effect | null
}

export interface State {
  readonly committed: Look
  readonly clockMs: number
  /** How often the lease may still run out while its holder sleeps. */
  readonly expiries: number
  readonly members: readonly Member[]
}

/**
 * `expire`: time passes, more than a lease. `begun`: who begins a statement just before it; sooner would be the same, and
 * without a commit or an expiry before it goes on it would not matter that it had begun.
 */
export type Step =
  | { readonly kind: 'work'; readonly member: number }
  | { readonly kind: 'commit'; readonly member: number; readonly begun: readonly number[] }
  | { readonly kind: 'expire'; readonly begun: readonly number[] }

/** A write of a worker whose lease is another's, or a claim of what is leased: found where it happens. */
export class Forbidden extends Error {}

export function isAtRest({ members }: State): boolean {
  return members.every(({ start, open }) => start === null && open === null)
}

/** States with the same key have the same future. */
export function keyOf({ committed, clockMs, expiries, members }: State): string {
  const parts = members.map(({ life, start, waits, open }) => {
    const began = start && `${numberOf(start.look)}@${start.clockMs}${waits ? 'w' : ''}`
    const done = open && `${numberOf(open.look)}:${numberOf(open.rows)}`
    return `${life.memory}/${began ?? ''}/${done ?? ''}`
  })
  // Who is who makes no difference: two workers that know the same are interchangeable.
  return [numberOf(committed), clockMs, expiries, ...parts.toSorted()].join(' ')
}

export function stepsFrom(state: State): readonly Step[] {
  const { members, committed, clockMs, expiries } = state
  const isLocked = members.some(({ open }) => open !== null)
  const canBegin = members.flatMap(({ life, start, open }, member) => {
    return start === null && open === null && locks(life.parked) ? member : []
  })
  const steps = members.flatMap(({ life: { parked }, start, waits, open }, member): Step[] => {
    if (parked === null || (start !== null && waits && isLocked)) return []
    if (open === null || (parked.kind === 'statement' && !parked.alone)) return [{ kind: 'work', member }]
    const changes = open.look.text !== committed.text
    return subsets(changes ? canBegin : []).map((begun) => ({ kind: 'commit', member, begun }))
  })
  const looks = [committed, ...members.flatMap(({ open }) => open?.look ?? [])]
  const canExpire = expiries > 0 && looks.some((look) => leaseState(look, clockMs) === 'valid')
  return canExpire ? [...steps, ...subsets(canBegin).map((begun): Step => ({ kind: 'expire', begun }))] : steps
}

function subsets(members: readonly number[]): readonly (readonly number[])[] {
  const [first, ...others] = members
  if (first === undefined) return [[]]
  const without = subsets(others)
  return [...without, ...without.map((some) => [first, ...some])]
}

function locks(parked: Life['parked']): boolean {
  return parked?.kind === 'statement' && /for no key update|update work_items/.test(parked.text)
}

export async function after(before: State, step: Step, measure: Measure): Promise<State> {
  const state = step.kind === 'work' ? before : begin(before, step.begun)
  if (step.kind === 'expire') {
    return { ...state, clockMs: state.clockMs + LEASE_MS + 1_000, expiries: state.expiries - 1 }
  }
  const member = state.members[step.member]
  if (member === undefined) throw new Error(`there is no member ${step.member}`)
  const put = (changed: Member, committed = state.committed): State => {
    return { ...state, committed, members: state.members.with(step.member, changed) }
  }
  if (step.kind === 'work') return work(state, member, put, measure)
  const isAnswer = member.life.parked?.kind === 'statement'
  const life = await member.life.told(isAnswer ? (member.open?.rows ?? []) : [])
  return put({ ...member, life, open: null }, member.open?.look)
}

function begin(state: State, begun: readonly number[]): State {
  const start = { look: state.committed, clockMs: state.clockMs }
  const members = state.members.map((member, index) => (begun.includes(index) ? { ...member, start } : member))
  return { ...state, members }
}

async function work(
  { committed, clockMs, members }: State,
  member: Member,
  put: (changed: Member) => State,
  measure: Measure,
): Promise<State> {
  const { parked } = member.life
  if (parked?.kind !== 'statement') throw new Error(`${member.name} has no statement`)
  // In its own open transaction it sees what that has written, and holds the lock already.
  const start =
    member.open === null ? (member.start ?? { look: committed, clockMs }) : { look: member.open.look, clockMs }
  const isLocked = member.open === null && members.some(({ open }) => open !== null)
  const now = member.open?.look ?? committed
  const effect = isLocked ? await measure.effectWhileLocked(parked, start) : await measure.effect(parked, start, now)
  if (effect === null) return put({ ...member, start, waits: true })
  if (isLocked && effect.touched) throw new Error(`a statement writes beside a lock: ${parked.text}`)
  forbid(member, effect, start, now)
  const next = { ...member, start: null, waits: false }
  if (!parked.alone) return put({ ...next, open: effect, life: await member.life.told(effect.rows) })
  if (effect.touched) return put({ ...next, open: effect })
  return put({ ...next, life: await member.life.told(effect.rows) })
}

function forbid({ name, life: { epoch } }: Member, { touched, look, rows }: Effect, start: Start, now: Look): void {
  if (touched && epoch !== null && epoch !== look.item.lease_epoch && look.text !== now.text) {
    throw new Forbidden(`${name} has written although its lease is another's`)
  }
  if (rows.some((row) => 'epoch' in row) && leaseState(now, start.clockMs) === 'valid') {
    throw new Forbidden(`${name} has claimed the item although its lease was valid`)
  }
}
