/**
 * What a worker does to an errand, one step at a time: apply events, act, rest. A step is where the test may hold it up; all
 * that other people do meanwhile lies between the view it has and the item it writes to.
 */
import {
  type Action,
  applyChanges,
  type Change,
  decide,
  dueKeys,
  end,
  look,
  type ModelEvent,
  type ModelItem,
  release,
  type View,
} from './item.ts'

export const MAX_ATTEMPTS = 5
const MAX_EVENT_ATTEMPTS = 5
/** An outage may last so long. */
export const TRANSIENT_BUDGET_HOURS = 10

/** How an action ends. */
export const ENDINGS = ['succeed', 'leave', 'defer', 'need', 'finish', 'fail', 'transient', 'for_good'] as const
export type Ending = (typeof ENDINGS)[number]

/** Where a worker is held up: in an action, before it goes to rest, or before it applies an event. */
export type Pause =
  | { readonly kind: 'action'; readonly action: Action; readonly view: View }
  | { readonly kind: 'exit'; readonly view: View }
  | { readonly kind: 'event'; readonly label: string; readonly view: View }

/** Which statements are held up at present; actions always are. */
export interface Holding {
  exits: boolean
  events: boolean
}

/** An applied event, and whether somebody lived to tell the audit. */
export interface Applied {
  readonly outcome: 'applied' | 'stale' | 'dead'
  readonly audited: boolean
}
export type Journal = Map<string, Applied>

/** What a worker goes on with; null: it has let go of the item, or the item has ended. */
type Next = View | null

/** A worker begins with an item, unless too many before it have not come to any end with it. */
export function claim(item: ModelItem, journal: Journal, holding: Holding): Pause | null {
  item.lease = 'valid'
  item.actionable = true
  item.unfinishedClaims += 1
  if (item.unfinishedClaims - 1 < MAX_ATTEMPTS) return work(item, journal, holding)
  fail(item, look(item), 'for_good')
  item.resolution = 'workers_lost'
  return null
}

/** Works on a leased item as far as it goes by itself. null: it has been given back. */
export function work(item: ModelItem, journal: Journal, holding: Holding, first: View = look(item)): Pause | null {
  let view = first
  for (;;) {
    const [label] = view.events
    if (label !== undefined) {
      if (isPoison(item, label)) {
        view = spendEvent(item, journal, label)
        continue
      }
      if (holding.events) return { kind: 'event', label, view }
      const next = applyEvent(item, journal, label, view)
      if (next === null) return null
      view = next
      continue
    }
    if (view.more) {
      view = look(item)
      continue
    }
    if (view.waits) {
      release(item)
      return null
    }
    const action = decide(view.dimensions)
    if (action !== null) return { kind: 'action', action, view }
    if (holding.exits) return { kind: 'exit', view }
    const next = exit(item, view)
    if (next === null) return null
    view = next
  }
}

/** What the write at the end of a pause does while the lease holds. */
export function resume(item: ModelItem, journal: Journal, pause: Pause, ending: Ending, audited = true): Next {
  switch (pause.kind) {
    case 'action':
      return endAction(item, pause, ending)
    case 'exit':
      return exit(item, pause.view)
    case 'event':
      return applyEvent(item, journal, pause.label, pause.view, audited)
  }
}

function exit(item: ModelItem, view: View): Next {
  if (item.revision !== view.revision || item.wakeCount !== view.wakeCount) return look(item)
  item.actionable = false
  item.waits = false
  release(item)
  return null
}

function isPoison(item: ModelItem, label: string): boolean {
  return find(item, label).kind === 'poison'
}

function find(item: ModelItem, label: string): ModelEvent {
  const event = item.events.find((candidate) => candidate.label === label)
  if (event === undefined) throw new Error(`the model has lost the event ${label}`)
  return event
}

function spendEvent(item: ModelItem, journal: Journal, label: string): View {
  const event = find(item, label)
  event.attempts += 1
  event.dead = event.attempts >= MAX_EVENT_ATTEMPTS
  if (event.dead) journal.set(label, { outcome: 'dead', audited: true })
  return look(item)
}

function applyEvent(item: ModelItem, journal: Journal, label: string, view: View, audited = true): Next {
  const { kind, variant, at } = find(item, label)
  const stale = item.lastEventAt !== null && at < item.lastEventAt
  const changes = kind === 'ping' ? [{ key: `needs_check/${variant}`, needed: true, deferred: false }] : []
  item.lastEventAt = Math.max(item.lastEventAt ?? at, at)
  item.events = item.events.filter((event) => event.label !== label)
  journal.set(label, { outcome: stale ? 'stale' : 'applied', audited })
  applyChanges(item, changes, view.revision)
  if ((kind === 'done' || kind === 'closed') && !stale && item.revision === view.revision) {
    end(item, kind === 'done' ? 'completed' : 'cancelled', kind)
    return null
  }
  if (item.revision !== view.revision) return look(item)
  return { ...view, dimensions: withChanges(view, changes), events: view.events.slice(1) }
}

function endAction(item: ModelItem, { action, view }: Extract<Pause, { kind: 'action' }>, ending: Ending): Next {
  if (ending === 'fail' || ending === 'transient' || ending === 'for_good') return fail(item, view, ending)
  const changes = changesOf(action, view, ending)
  const phase = ending === 'leave' ? null : action === 'stop' ? 'cancelled' : ending === 'finish' ? 'completed' : null
  const isUntouched = item.revision === view.revision
  const fresh = { attempts: 0, failingHours: null, waits: false, events: [], more: false }
  const after: View = { ...view, ...fresh, dimensions: withChanges(view, changes) }
  applyChanges(item, changes, view.revision)
  if (action === 'run' && ending !== 'leave') item.doneText = view.text
  item.unfinishedClaims = 0
  item.attempts = 0
  item.transientFailures = 0
  item.failingHours = null
  item.waits = false
  if (phase !== null && isUntouched) {
    end(item, phase, phase === 'completed' ? 'done' : 'stopped')
    return null
  }
  if (!isUntouched || item.wakeCount !== view.wakeCount) return look(item)
  // It goes to rest by the very write that records the success: no exit of its own.
  return decide(after.dimensions) === null ? exit(item, view) : after
}

/** Failures count only if no caller has written since; a caller's write has forgotten the earlier ones. */
function fail(item: ModelItem, view: View, ending: 'fail' | 'transient' | 'for_good'): Next {
  const counts = item.revision === view.revision
  const isTransient = ending === 'transient'
  const isExhausted = isTransient
    ? (view.failingHours ?? 0) > TRANSIENT_BUDGET_HOURS
    : view.attempts + 1 >= MAX_ATTEMPTS
  const isLast = ending === 'for_good' || isExhausted
  item.actionable = true
  item.waits = false
  release(item)
  item.transientFailures = counts && isTransient ? item.transientFailures + 1 : 0
  item.failingHours = counts && isTransient ? (item.failingHours ?? 0) : null
  if (!counts) return null
  if (!isTransient) item.attempts += 1
  if (isLast) end(item, 'failed', ending)
  else item.waits = true
  return null
}

function changesOf(action: Action, { dimensions }: Pick<View, 'dimensions'>, ending: Ending): readonly Change[] {
  if (ending === 'leave') return []
  const settled = dueKeys(dimensions, action).map((key) => ({ key, needed: false, deferred: false }))
  if (ending === 'defer') return [...settled, { key: 'needs_check/later', needed: true, deferred: true }]
  if (ending === 'need') return [...settled, { key: 'needs_check/more', needed: true, deferred: false }]
  return settled
}

function withChanges(view: View, changes: readonly Change[]): View['dimensions'] {
  const dimensions = new Map(view.dimensions)
  for (const { key, needed, deferred } of changes) dimensions.set(key, { needed, deferred, revision: view.revision })
  return dimensions
}
