/**
 * What became of the events that this process has met since its start, one number for each station on their way. Counting
 * costs an addition; whoever shows the numbers (the queue's status, the metrics) reads them when asked.
 */
export const EVENT_STAGES = [
  /** Arrived over the webhook, from the queue of events. */
  'received_webhook',
  'received_sqs',
  /** Not accepted: it proves nothing, or there was too much at once. Its sender knows. */
  'shed',
  /** No JSON; JSON that is no event we know of. */
  'unreadable',
  'unknown',
  /** Concerns nobody. */
  'unresolved',
  /** Stored for an item; the same delivery again; the item has just ended. An event counts once for each of its items. */
  'inserted',
  'known',
  'refused',
  /** Applied by the item's worker; of those, older than what the item had heard already. */
  'drained',
  'stale',
  /** A handler failed, and it is tried again; it failed for the last time, and was set aside. */
  'failed',
  'dead',
] as const

export type EventStage = (typeof EVENT_STAGES)[number]

export interface EventCounts {
  add(stage: EventStage, times?: number): void
  read(): Readonly<Record<EventStage, number>>
}

export function createEventCounts(): EventCounts {
  const counts = Object.fromEntries(EVENT_STAGES.map((stage) => [stage, 0])) as Record<EventStage, number>
  return {
    add(stage, times = 1) {
      counts[stage] += times
    },
    read: () => ({ ...counts }),
  }
}
