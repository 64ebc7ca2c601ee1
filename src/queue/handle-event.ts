/**
 * Applies one pending event to one item. The item type's handler says what the event means, as a value; this file alone
 * writes: phase (unless the event is stale), dimensions (always), and the event's own deletion, in one transaction
 * conditional on the lease. Audit entries leave after the commit. Decisions 0033, 0037, 0038.
 *
 * A handler that throws costs its event an attempt; after five the event is dead: kept and counted, never in the way.
 */
import type { Audit } from '../audit/entry.ts'
import type { Database } from '../db/database.ts'
import { messageOf } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { recordPhaseChange } from './audit-phase-change.ts'
import type { AnyItemType, EventResult, PendingEvent, Snapshot } from './item-type.ts'
import { type Lease, LeaseLost } from './lease.ts'
import { deletePendingEvent, failPendingEvent } from './sql/pending-events.ts'
import { recordEvent } from './sql/record-event.ts'
import { closeDimensions, saveDimensions } from './sql/save-dimensions.ts'

const MAX_EVENT_ATTEMPTS = 5

export interface EventDependencies {
  readonly db: Database
  readonly audit: Audit
  readonly log: Log
}

/** @throws LeaseLost. */
export async function handleEvent(
  deps: EventDependencies,
  type: AnyItemType,
  lease: Lease,
  snapshot: Snapshot<unknown>,
  event: PendingEvent,
): Promise<void> {
  let result: EventResult
  try {
    result = type.events.handle(event, snapshot)
  } catch (error) {
    await countFailure(deps, snapshot, event, messageOf(error))
    return
  }
  await apply(deps, lease, snapshot, event, result)
}

async function apply(
  { db, audit }: EventDependencies,
  lease: Lease,
  { item }: Snapshot<unknown>,
  event: PendingEvent,
  result: EventResult,
): Promise<void> {
  const { phase, stale } = await db.transaction().execute(async (tx) => {
    const recorded = await recordEvent(tx, {
      id: item.id,
      epoch: lease.epoch,
      revision: item.revision,
      eventAt: event.eventAt,
      phase: result.phase,
      resolution: result.resolution ?? result.phase,
    })
    if (recorded === null) throw new LeaseLost(item.id)
    const updates = result.dimensions.map(({ dimension, variant = '', status, note = null }) => {
      return { dimension, variant, status, note, deferMs: null }
    })
    await saveDimensions(tx, item.id, item.revision, updates)
    if (recorded.phase !== 'active') await closeDimensions(tx, item.id, recorded.phase)
    await deletePendingEvent(tx, event.id)
    return recorded
  })
  audit.record({
    event_type: 'event',
    work_item_id: item.id,
    item_type: item.itemType,
    action: event.eventType,
    outcome: stale ? 'stale' : 'applied',
    message: result.trigger,
    dimensions: Object.fromEntries(result.dimensions.map(({ dimension, status }) => [dimension, status])),
  })
  if (phase !== 'active') recordPhaseChange(audit, item, phase, result.resolution ?? phase)
}

async function countFailure(
  { db, audit, log }: EventDependencies,
  { item }: Snapshot<unknown>,
  event: PendingEvent,
  message: string,
): Promise<void> {
  const dead = await failPendingEvent(db, event.id, message, MAX_EVENT_ATTEMPTS)
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
