/**
 * The model's errand: what the queue must hold of it, in plain values. Time is only ever "put off" or "due", because the test
 * moves stored instants rather than a clock. Nothing here has seen a line of SQL.
 */

export type Phase = 'active' | 'completed' | 'failed' | 'cancelled'
export type Action = 'stop' | 'run' | 'check'
export type EventKind = 'ping' | 'quiet' | 'done' | 'closed' | 'poison'

export interface DimensionState {
  readonly needed: boolean
  readonly deferred: boolean
  readonly revision: number
}

export interface Change {
  /** `needs_check/variant`. */
  readonly key: string
  readonly needed: boolean
  readonly deferred: boolean
}

export interface ModelEvent {
  readonly label: string
  readonly kind: EventKind
  readonly variant: string
  /** When it happened; only the order counts. */
  readonly at: number
  readonly sourceId: string | null
  attempts: number
  dead: boolean
}

export interface ModelItem {
  readonly id: string
  readonly name: string
  readonly generation: number
  phase: Phase
  resolution: string | null
  text: string
  doneText: string | null
  actionable: boolean
  attempts: number
  transientFailures: number
  /** For how many hours it has been failing transiently; null when it does not. */
  failingHours: number | null
  /** In backoff: not before its next try. */
  waits: boolean
  lease: 'none' | 'valid' | 'expired'
  epoch: number
  /** Claims in a row that ended without any outcome. */
  unfinishedClaims: number
  revision: number
  wakeCount: number
  dimensions: Map<string, DimensionState>
  /** Stored and not applied, oldest first. */
  events: ModelEvent[]
  lastEventAt: number | null
}

/** What a worker has read of an item, and acts on until it reads again. */
export interface View {
  readonly revision: number
  readonly wakeCount: number
  readonly attempts: number
  readonly failingHours: number | null
  readonly waits: boolean
  readonly text: string
  readonly dimensions: ReadonlyMap<string, DimensionState>
  /** Labels of events, oldest first. */
  readonly events: readonly string[]
  /** There may be more of them. */
  readonly more: boolean
}

/** A worker reads so many events at a time. */
export const EVENTS_AT_A_TIME = 20

const ORDER: readonly Action[] = ['stop', 'run', 'check']

export function newItem(id: string, name: string, generation: number, text: string): ModelItem {
  return {
    ...{ id, name, generation, text, doneText: null, phase: 'active', resolution: null, actionable: true },
    ...{ attempts: 0, transientFailures: 0, failingHours: null, waits: false, lease: 'none' },
    ...{ epoch: 0, unfinishedClaims: 0, revision: 0, wakeCount: 0 },
    ...{ dimensions: new Map(), events: [], lastEventAt: null },
  }
}

export function look(item: ModelItem): View {
  const { revision, wakeCount, attempts, failingHours, waits, text } = item
  const waiting = item.events.filter(({ dead }) => !dead).map(({ label }) => label)
  const events = waiting.slice(0, EVENTS_AT_A_TIME)
  return {
    ...{ revision, wakeCount, attempts, failingHours, waits, text, dimensions: new Map(item.dimensions) },
    ...{ events, more: events.length === EVENTS_AT_A_TIME },
  }
}

/** The first action that some dimension asks for now. A new errand has no rows, and is to be run. */
export function decide(dimensions: View['dimensions']): Action | null {
  return ORDER.find((action) => dueKeys(dimensions, action).length > 0) ?? null
}

export function dueKeys(dimensions: View['dimensions'], action: Action): readonly string[] {
  const rows = [...dimensions].filter(([key]) => key.startsWith(`needs_${action}/`))
  if (rows.length === 0) return action === 'run' ? ['needs_run/'] : []
  return rows.filter(([, { needed, deferred }]) => needed && !deferred).map(([key]) => key)
}

/** Its worker lets go of it. */
export function release(item: ModelItem): void {
  item.lease = 'none'
  item.unfinishedClaims = 0
}

/** Would a sweep have to find it? */
export function isDue(item: ModelItem): boolean {
  if (item.phase !== 'active' || item.lease === 'valid') return false
  if (item.events.some(({ dead }) => !dead)) return true
  if (item.waits) return false
  return item.actionable || decide(item.dimensions) !== null
}

/** Changes of a worker that decided on `revision`: what a caller has set since is the caller's. */
export function applyChanges(item: ModelItem, changes: readonly Change[], revision: number): void {
  for (const { key, needed, deferred } of changes) {
    const row = item.dimensions.get(key)
    if (row !== undefined && row.revision > revision) continue
    item.dimensions.set(key, { needed, deferred: needed && deferred, revision: row?.revision ?? revision })
  }
}

/** A caller's write: these are needed, or not, whatever stood there. */
export function applyWish(item: ModelItem, needed: readonly string[], cleared: readonly string[]): void {
  const wish = (isNeeded: boolean) => ({ needed: isNeeded, deferred: false, revision: item.revision })
  for (const dimension of needed) item.dimensions.set(`${dimension}/`, wish(true))
  for (const dimension of cleared) item.dimensions.set(`${dimension}/`, wish(false))
}

export function end(item: ModelItem, phase: Exclude<Phase, 'active'>, resolution: string): void {
  item.phase = phase
  item.resolution = resolution
  item.actionable = false
  item.lease = 'none'
  for (const [key, row] of item.dimensions) {
    item.dimensions.set(key, { ...row, deferred: false, needed: row.needed && phase !== 'completed' })
  }
}
