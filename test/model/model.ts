/**
 * The model of the whole: every errand, everyone who waits, every process. Callers' writes and the ends of steps have one
 * outcome each. Only who claims what, and when, is left open: a higher epoch in the database says that somebody has, and then
 * the item must stand where a worker's own steps lead, or where the item was if that process could not use it.
 */
import { isDeepStrictEqual } from 'node:util'
import { applyWish, type EventKind, isDue, type ModelEvent, type ModelItem, newItem, release } from './item.ts'
import type { RealPause } from './model-process.ts'
import type { ObservedItem } from './observe.ts'
import { claim, type Ending, type Holding, type Journal, type Pause, resume, work } from './work.ts'
import { PASSING_HOURS, type World } from './world.ts'

export interface ModelPause {
  readonly number: number
  readonly process: number
  readonly itemId: string
  readonly epoch: number
  readonly pause: Pause
}

export interface ProcessState {
  readonly index: number
  readonly isPatient: boolean
  state: 'door' | 'working' | 'stopping' | 'stopped' | 'crashed'
}

/** A sender's clock may be ahead by five minutes. */
const MOST_AHEAD_MS = 301_000

export type Fate = 'lives' | 'dies' | 'loses the answer'

export class Model {
  readonly items = new Map<string, ModelItem>()
  readonly pauses = new Map<number, ModelPause>()
  readonly processes: ProcessState[] = [{ index: 0, isPatient: true, state: 'door' }]
  readonly holding: Holding = { exits: false, events: false }
  journal: Journal = new Map()
  /** Where a worker that goes on with its lease must be found waiting. */
  readonly #expected = new Map<string, Pause | null>()
  readonly #lastEventAt = new Map<string, number>()
  #count = 0

  next(): number {
    this.#count += 1
    return this.#count
  }

  item(id: string): ModelItem {
    const item = this.items.get(id)
    if (item === undefined) throw new Error(`the model knows no work item ${id}`)
    return item
  }

  all(): readonly ModelItem[] {
    return [...this.items.values()]
  }

  live(name: string): ModelItem | undefined {
    return this.all().find((item) => item.name === name && (item.phase === 'active' || item.phase === 'failed'))
  }

  newest(name: string): ModelItem | undefined {
    return this.all()
      .filter((item) => item.name === name)
      .sort((a, b) => b.generation - a.generation)[0]
  }

  working(): readonly ProcessState[] {
    return this.processes.filter(({ state }) => state === 'working')
  }

  /** Processes that answer callers. */
  doors(): readonly ProcessState[] {
    return this.processes.filter(({ state }) => state !== 'crashed')
  }

  pausesOf(process: number): readonly ModelPause[] {
    return [...this.pauses.values()].filter((pause) => pause.process === process)
  }

  submit(name: string, text: string): 'created' | 'unchanged' | 'updated' | 'retried' {
    const live = this.live(name)
    if (live === undefined) return 'created'
    const isCancelling = live.dimensions.get('needs_stop/')?.needed === true
    if (live.phase === 'active' && live.text === text && !isCancelling) return 'unchanged'
    const outcome = live.phase === 'failed' ? 'retried' : 'updated'
    live.text = text
    this.wake(live, ['needs_run'], ['needs_stop'])
    return outcome
  }

  create(id: string, name: string, text: string): void {
    this.items.set(id, newItem(id, name, 1 + (this.newest(name)?.generation ?? 0), text))
  }

  /** A caller's write: alive, free of old failures, and wanted. */
  wake(item: ModelItem, needed: readonly string[], cleared: readonly string[]): void {
    item.phase = 'active'
    item.resolution = null
    item.actionable = true
    item.attempts = 0
    item.transientFailures = 0
    item.failingHours = null
    item.unfinishedClaims = 0
    item.waits = false
    item.revision += 1
    applyWish(item, needed, cleared)
  }

  ingest(
    item: ModelItem,
    event: { label: string; kind: EventKind; variant: string; at: number; sourceId: string | null },
  ) {
    const isKnown = item.events.some(({ sourceId }) => sourceId !== null && sourceId === event.sourceId)
    if (item.phase !== 'active' || isKnown) return
    const stored: ModelEvent = { ...event, attempts: 0, dead: false }
    item.events.push(stored)
    item.wakeCount += 1
    item.actionable = true
  }

  holds({ itemId, epoch }: ModelPause): boolean {
    const item = this.item(itemId)
    return item.epoch === epoch && item.phase === 'active' && item.lease !== 'none'
  }

  endPause(ended: ModelPause, ending: Ending, fate: Fate): void {
    this.pauses.delete(ended.number)
    if (!this.holds(ended)) return
    const item = this.item(ended.itemId)
    const next = resume(item, this.journal, ended.pause, ending, fate !== 'dies')
    if (next === null || fate === 'dies') return
    if (this.processes[ended.process]?.state === 'stopping') release(item)
    else this.#expected.set(item.id, work(item, this.journal, this.holding, next))
  }

  /** An interrupted action: nothing is counted, and the lease is given back if it is still this worker's. */
  interrupt(interrupted: ModelPause): void {
    this.pauses.delete(interrupted.number)
    if (this.holds(interrupted)) release(this.item(interrupted.itemId))
  }

  crash(process: ProcessState): void {
    process.state = 'crashed'
    for (const { number } of this.pausesOf(process.index)) this.pauses.delete(number)
  }

  passWaits(item: ModelItem): void {
    item.waits = false
    for (const [key, row] of item.dimensions) item.dimensions.set(key, { ...row, deferred: false })
  }

  /** Longer than any wait, for all. */
  passTime(): void {
    for (const item of this.all()) {
      this.passWaits(item)
      this.expire(item)
      if (item.failingHours !== null) item.failingHours += PASSING_HOURS
    }
  }

  expire(item: ModelItem): void {
    if (item.lease === 'valid') item.lease = 'expired'
  }

  /** Compares with what is stored and who waits, and takes over what the model leaves open. @throws at any difference. */
  async sync(world: World): Promise<void> {
    await world.quiet()
    const stored = await world.observe()
    if (stored.size !== this.items.size) throw new Error(`${stored.size} items are stored, not ${this.items.size}`)
    for (const item of this.all()) {
      const observed = stored.get(item.id)
      if (observed === undefined) throw new Error(`work item ${item.id} is not stored`)
      const newcomers = [...world.pauses.values()].filter(
        ({ itemId, number }) => itemId === item.id && !this.pauses.has(number),
      )
      this.#syncItem(item, observed, newcomers)
      this.#checkEventTime(observed)
    }
    const lost = [...this.pauses.keys()].filter((number) => !world.pauses.has(number))
    if (lost.length > 0) throw new Error(`a worker went on by itself: ${lost.join()}`)
  }

  /** Is nothing due that this process could take? What it still works on, without knowing that its lease is over, it cannot. */
  isSwept(process: ProcessState): boolean {
    const former = new Set(this.pausesOf(process.index).map(({ itemId }) => itemId))
    return !this.all().some((item) => isDue(item) && !former.has(item.id))
  }

  #syncItem(item: ModelItem, observed: ObservedItem, newcomers: readonly RealPause[]): void {
    const expected = this.#expected.get(item.id) ?? null
    this.#expected.delete(item.id)
    const candidates = this.#candidates(item, observed, expected)
    const seen = fromStored(observed)
    const match = candidates.find(
      (candidate) => isDeepStrictEqual(describe(candidate.item), seen) && isAt(candidate.pause, newcomers),
    )
    if (match === undefined) {
      const told = candidates.map((candidate) => `${describeText(candidate.item)}\n  at ${placeOf(candidate.pause)}`)
      const places = newcomers.map(({ kind, action, text }) => `${kind} ${action} ${text}`)
      throw new Error(
        `an errand is not as it should be\nexpected ${told.join('\nor       ')}\nstored   ${JSON.stringify(seen)}\n  at ${places.join() || 'nothing'}`,
      )
    }
    this.journal = match.journal
    this.items.set(item.id, { ...match.item, epoch: observed.epoch })
    const [newcomer] = newcomers
    if (newcomer === undefined || match.pause === null) return
    const { number, process } = newcomer
    this.pauses.set(number, { number, process, itemId: item.id, epoch: observed.epoch, pause: match.pause })
  }

  #candidates(item: ModelItem, observed: ObservedItem, expected: Pause | null): readonly Candidate[] {
    if (observed.epoch === item.epoch) return [{ item, pause: expected, journal: this.journal }]
    if (observed.epoch < item.epoch) throw new Error(`an epoch went back from ${item.epoch} to ${observed.epoch}`)
    if (item.lease === 'valid' || item.phase !== 'active' || expected !== null) {
      throw new Error(`claimed without right: ${describeText(item)}`)
    }
    const candidates = [this.#claimed(item)]
    if ([...this.pauses.values()].some(({ itemId }) => itemId === item.id)) {
      // Claimed by the process that still works on it without knowing that its lease is over: given back at once.
      const returned: ModelItem = { ...structuredClone(item), actionable: true }
      release(returned)
      candidates.push({ item: returned, pause: null, journal: this.journal }, this.#claimed(returned))
    }
    return candidates
  }

  #claimed(item: ModelItem): Candidate {
    const claimed = structuredClone(item)
    const journal = new Map(this.journal)
    return { pause: claim(claimed, journal, this.holding), item: claimed, journal }
  }

  #checkEventTime({ id, last_event_at }: ObservedItem): void {
    const before = this.#lastEventAt.get(id)
    if (before !== undefined && (last_event_at ?? 0) < before) throw new Error(`last_event_at of ${id} went back`)
    if ((last_event_at ?? 0) * 1_000 > Date.now() + MOST_AHEAD_MS)
      throw new Error(`last_event_at of ${id} is far ahead`)
    if (last_event_at !== null) this.#lastEventAt.set(id, last_event_at)
  }
}

interface Candidate {
  readonly item: ModelItem
  readonly pause: Pause | null
  readonly journal: Journal
}

function isAt(pause: Pause | null, newcomers: readonly RealPause[]): boolean {
  if (pause === null) return newcomers.length === 0
  const [newcomer] = newcomers
  if (newcomer === undefined || newcomers.length > 1) return false
  if (newcomer.kind !== pause.kind || newcomer.revision !== pause.view.revision) return false
  return pause.kind !== 'action' || (newcomer.action === pause.action && newcomer.text === pause.view.text)
}

function placeOf(pause: Pause | null): string {
  if (pause === null) return 'nothing'
  return `${pause.kind} ${pause.kind === 'action' ? `${pause.action} ${pause.view.text}` : ''}`
}

function describe(item: ModelItem): Record<string, unknown> {
  const { id, name, generation, phase, resolution, text, doneText, actionable, attempts, transientFailures } = item
  const { waits, lease, revision, wakeCount, failingHours, unfinishedClaims } = item
  return {
    ...{ id, name, generation, phase, resolution, text, doneText, actionable, attempts, transientFailures },
    ...{ waits: phase === 'active' && waits, lease, revision, wakeCount, failingHours, unfinishedClaims },
    dimensions: rowsOf(
      phase,
      [...item.dimensions].map(([key, row]) => ({ key, ...row })),
    ),
    events: item.events.map(({ label, attempts: spent, dead }) => ({ label, attempts: spent, dead })),
  }
}

function fromStored(row: ObservedItem): Record<string, unknown> {
  const { id, name, generation, phase, resolution, text, actionable, attempts, lease, revision } = row
  return {
    ...{ id, name, generation, phase, resolution, text, doneText: row.done_text, actionable, attempts },
    ...{ transientFailures: row.transient_failures, waits: phase === 'active' && row.waits, lease, revision },
    ...{ wakeCount: row.wake_count, failingHours: row.failing_hours, unfinishedClaims: row.unfinished_claims },
    dimensions: rowsOf(phase, row.dimensions),
    events: row.events,
  }
}

/** Of a completed item only what would still be needed: nothing. It never comes back, so what was settled says nothing. */
function rowsOf<Row extends { readonly key: string; readonly needed: boolean }>(
  phase: string,
  rows: readonly Row[],
): readonly Row[] {
  return rows.filter(({ needed }) => phase !== 'completed' || needed).sort((a, b) => (a.key < b.key ? -1 : 1))
}

export function describeText(item: ModelItem): string {
  return JSON.stringify(describe(item))
}
