/**
 * Applies one pending event to one item. The item type's handler says what the event means, as a value; this file alone
 * writes: phase (unless the event is stale), dimensions (always), and the event's own deletion, in one statement
 * conditional on the lease. Audit entries leave after the commit. Decisions 0033, 0037, 0038.
 *
 * A handler that throws costs its event an attempt; after five the event is dead: kept and counted, never in the way.
 */
import type { Audit } from '../audit/entry.ts'
import type { Database } from '../db/database.ts'
import { isDatabaseTrouble } from '../lib/connection-error.ts'
import { messageOf } from '../lib/errors.ts'
import type { EventCounts } from '../lib/event-counts.ts'
import type { Log } from '../lib/log.ts'
import { recordPhaseChange } from './audit-phase-change.ts'
import { dimensionKey } from './dimension.ts'
import type { AnyItemType, EventResult, PendingEvent, Snapshot } from './item-type.ts'
import { type Lease, LeaseLost } from './lease.ts'
import type { Outcomes } from './outcomes.ts'
import { afterEvent } from './predict.ts'
import { failPendingEvent } from './sql/fail-pending-event.ts'
import type { Observation } from './sql/observation.ts'

const MAX_EVENT_ATTEMPTS = 5

export interface EventDependencies {
  readonly db: Database
  readonly outcomes: Outcomes
  readonly audit: Audit
  readonly log: Log
  readonly counts: EventCounts
}

/** `ended`: the event has ended the item, and the lease is given back. `next`: the item as it is now; null = read it again. */
export type EventOutcome = { readonly kind: 'ended' } | { readonly kind: 'applied'; readonly next: Observation | null }

/** Applies the first event of the observation. @throws LeaseLost. */
export async function handleEvent(
  deps: EventDependencies,
  type: AnyItemType,
  lease: Lease,
  observation: Observation,
  event: PendingEvent,
): Promise<EventOutcome> {
  try {
    const result = type.events.handle(event, observation.snapshot)
    return await apply(deps, lease, observation, event, result)
  } catch (error) {
    if (error instanceof LeaseLost || isDatabaseTrouble(error)) throw error
    // It cannot be read, or what it means cannot be stored.
    await countFailure(deps, lease, observation.snapshot, event, messageOf(error))
    return { kind: 'applied', next: null }
  }
}

async function apply(
  { outcomes, audit, counts }: EventDependencies,
  lease: Lease,
  { snapshot, events, moreEvents, unreadable }: Observation,
  event: PendingEvent,
  result: EventResult,
): Promise<EventOutcome> {
  const { item } = snapshot
  const dimensions = result.dimensions.map(({ dimension, variant = '', status, note = null, deferMs = null }) => {
    return { dimension, variant, status, note, deferMs }
  })
  const recorded = await outcomes.event(lease, {
    id: item.id,
    epoch: lease.epoch,
    revision: item.revision,
    eventId: event.id,
    eventAt: event.eventAt,
    phase: result.phase,
    resolution: result.resolution ?? result.phase,
    dimensions,
  })
  if (recorded === null) throw new LeaseLost(item.id)
  counts.add('drained')
  if (recorded.stale) counts.add('stale')
  audit.record({
    event_type: 'event',
    work_item_id: item.id,
    item_type: item.itemType,
    action: event.eventType,
    outcome: recorded.stale ? 'stale' : 'applied',
    message: result.trigger,
    dimensions: Object.fromEntries(result.dimensions.map((update) => [dimensionKey(update), update.status])),
  })
  if (recorded.phase !== 'active') {
    recordPhaseChange(audit, item, recorded.phase, result.resolution ?? recorded.phase)
    return { kind: 'ended' }
  }
  if (recorded.revision !== item.revision) return { kind: 'applied', next: null }
  // A wake count that has moved on means events that were not read yet: the exit compares it, and reads again.
  const after = afterEvent(snapshot, dimensions, recorded.lastEventAt, recorded.now)
  return { kind: 'applied', next: { snapshot: after, events: events.slice(1), moreEvents, unreadable } }
}

async function countFailure(
  { db, audit, log, counts }: EventDependencies,
  lease: Lease,
  { item }: Snapshot<unknown>,
  event: PendingEvent,
  message: string,
): Promise<void> {
  const dead = await failPendingEvent(db, lease, event.id, message, MAX_EVENT_ATTEMPTS)
  if (dead === null) throw new LeaseLost(item.id)
  counts.add(dead ? 'dead' : 'failed')
  log.warn({ work_item_id: item.id, event_id: event.id, error: message, dead }, 'an event could not be handled')
  if (!dead) return
  audit.record({
    event_type: 'event',
    work_item_id: item.id,
    item_type: item.itemType,
    action: event.eventType,
    outcome: 'dead',
    message,
  })
}
