/**
 * The operator's side of the queue in memory: it answers with the numbers and the dead events that the test gave it, and
 * keeps the promises that callers can see (only the asked types, paging, refusals by code).
 */
import { WorkQueueError } from '../../src/lib/errors.ts'
import { createEventCounts } from '../../src/lib/event-counts.ts'
import type { QueueAdmin, QueueStatus } from '../../src/queue/queue-admin.ts'
import type { DeadEvent, DeadEventFilter } from '../../src/queue/sql/dead-events.ts'
import type { FakeQueue } from './fake-queue.ts'

/** A group in which nothing happens. */
export const QUIET = {
  due: 0,
  oldestDueAt: null,
  running: 0,
  backoff: 0,
  nextRetryAt: null,
  pendingEvents: 0,
  oldestEventAt: null,
  deadEvents: 0,
  active: 0,
  deferred: 0,
  nextLookAt: null,
  countedAll: true,
} as const

export const NIGHT = new Date('2026-03-02T03:00:00Z')

export class FakeQueueAdmin implements QueueAdmin {
  readonly #queue: FakeQueue
  #status: Omit<QueueStatus, 'byType'> = {
    now: NIGHT,
    total: QUIET,
    byKey: [],
    running: [],
    oldestDue: null,
    process: {
      ...{ workers: 10, running: 0, held: 0, draining: false, listening: 'on' },
      events: createEventCounts().read(),
    },
  }
  #dead: DeadEvent[] = []
  /** Every accepted revival, with the caller's name. */
  readonly calls: { readonly eventId: string; readonly caller: string }[] = []

  constructor(queue: FakeQueue) {
    this.#queue = queue
  }

  /** What the status says from now on. */
  show(changes: Partial<Omit<QueueStatus, 'byType'>>): void {
    this.#status = { ...this.#status, ...changes }
  }

  /** Sets an event of this item aside. */
  async addDead(workItemId: string, changes: Partial<DeadEvent> = {}): Promise<string> {
    const { itemType, dedupKey, phase } = await this.#queue.getItem(workItemId)
    const id = String(this.#dead.length + 1)
    const facts = { eventType: 'pipeline', eventAt: NIGHT, receivedAt: NIGHT, attempts: 5, error: 'no such job' }
    this.#dead.push({ id, workItemId, itemType, dedupKey, phase, ...facts, ...changes })
    return id
  }

  async status(itemTypes: readonly string[]): Promise<QueueStatus> {
    const byType = itemTypes.map((itemType) => ({ itemType, ...this.#status.total }))
    return { ...this.#status, byType }
  }

  async deadEvents({ itemTypes, workItemId, limit, before }: DeadEventFilter) {
    const fitting = this.#dead
      .toReversed()
      .filter((event) => itemTypes.includes(event.itemType) && event.workItemId === (workItemId ?? event.workItemId))
      .filter((event) => before === undefined || Number(event.id) < Number(before))
    const events = fitting.slice(0, limit)
    return { events, next: fitting.length > limit ? (events.at(-1)?.id ?? null) : null }
  }

  async deadEvent(eventId: string): Promise<DeadEvent> {
    const found = this.#dead.find(({ id }) => id === eventId)
    if (found === undefined) throw new WorkQueueError('dead_event_not_found', `There is no dead event ${eventId}.`)
    return found
  }

  async revive(eventId: string, caller: string): Promise<DeadEvent> {
    const event = await this.deadEvent(eventId)
    const { phase } = await this.#queue.getItem(event.workItemId)
    if (phase !== 'active') throw new WorkQueueError('item_not_active', `Work item ${event.workItemId} is ${phase}.`)
    this.#dead = this.#dead.filter(({ id }) => id !== eventId)
    this.calls.push({ eventId, caller })
    return event
  }

  async reviveAllOf(workItemId: string, caller: string): Promise<readonly DeadEvent[]> {
    const ids = this.#dead.filter((event) => event.workItemId === workItemId).map(({ id }) => id)
    if (ids.length === 0) {
      throw new WorkQueueError('dead_event_not_found', `Work item ${workItemId} has no dead events.`)
    }
    return Promise.all(ids.map((id) => this.revive(id, caller)))
  }
}
