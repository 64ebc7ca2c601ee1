/**
 * From the operator's side of the queue to its public shapes, field by field like views.ts. Bodies of events do not even
 * reach this file.
 */
import type { DeadEvents, QueueStatus as QueueStatusView, RevivedEvents } from '../contract/queue.ts'
import type { QueueStatus } from '../queue/queue-admin.ts'
import type { DeadEvent, RevivedEvent } from '../queue/sql/dead-events.ts'

export function queueStatusView(status: QueueStatus): QueueStatusView {
  const { now, total, byType, byKey, running, oldestDue, process } = status
  return {
    now: now.toISOString(),
    item_types: byType.map(({ itemType }) => itemType),
    total: { ...awakeView(total), ...restingView(total) },
    by_item_type: byType.map((group) => {
      return { item_type: group.itemType, ...awakeView(group), ...restingView(group) }
    }),
    by_concurrency_key: byKey.map((group) => {
      return { item_type: group.itemType, concurrency_key: group.concurrencyKey, ...awakeView(group) }
    }),
    running_items: running.map((item) => ({
      id: item.id,
      item_type: item.itemType,
      dedup_key: item.dedupKey,
      concurrency_key: item.concurrencyKey,
      leased_at: item.leasedAt.toISOString(),
      leased_until: item.leasedUntil.toISOString(),
      attempts: item.attempts,
    })),
    oldest_due:
      oldestDue === null
        ? null
        : { id: oldestDue.id, item_type: oldestDue.itemType, since: oldestDue.since.toISOString() },
    process: {
      workers: process.workers,
      running: process.running,
      held: process.held,
      draining: process.draining,
      listening: process.listening,
      events: { ...process.events },
    },
  }
}

function awakeView(group: QueueStatus['byKey'][number] | QueueStatus['total']) {
  return {
    due: group.due,
    oldest_due_at: group.oldestDueAt?.toISOString() ?? null,
    running: group.running,
    backoff: group.backoff,
    next_retry_at: group.nextRetryAt?.toISOString() ?? null,
    pending_events: group.pendingEvents,
    oldest_event_at: group.oldestEventAt?.toISOString() ?? null,
    dead_events: group.deadEvents,
  }
}

function restingView(group: QueueStatus['total']) {
  const { active, due, running, backoff, deferred, nextLookAt, countedAll } = group
  return {
    active,
    deferred,
    next_look_at: nextLookAt?.toISOString() ?? null,
    idle: countedAll ? active - due - running - backoff - deferred : null,
    counted_all: countedAll,
  }
}

export function deadEventView(event: DeadEvent): DeadEvents['events'][number] {
  return {
    ...revivedView(event),
    dedup_key: event.dedupKey,
    phase: event.phase,
    event_at: event.eventAt.toISOString(),
    received_at: event.receivedAt.toISOString(),
    attempts: event.attempts,
    error: event.error,
  }
}

export function revivedView(event: RevivedEvent): RevivedEvents['events'][number] {
  return { id: event.id, work_item_id: event.workItemId, item_type: event.itemType, event_type: event.eventType }
}
