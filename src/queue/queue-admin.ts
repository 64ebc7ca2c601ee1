/**
 * The queue as its operator sees it: what is due, what runs, what waits and until when, what was set aside. It only looks,
 * with one exception: it gives dead events another try. That write is committed, then audited, then the item is woken.
 *
 * The bodies of events never pass through here; they may hold what their sender did not mean for an operator.
 */
import type { Audit } from '../audit/entry.ts'
import type { Database } from '../db/database.ts'
import { WorkQueueError } from '../lib/errors.ts'
import type { EventStage } from '../lib/event-counts.ts'
import {
  type DeadEvent,
  type DeadEventFilter,
  findDeadEvent,
  listDeadEvents,
  type RevivedEvent,
  reviveDeadEvent,
  reviveDeadEventsOf,
} from './sql/dead-events.ts'
import { type Numbers, type QueueNumbers, readQueueStatus } from './sql/read-queue-status.ts'
import { readWorkItem } from './sql/read-work-item.ts'
import type { Phase } from './work-item.ts'

/** What the process that answers is doing itself; all other numbers are those of the database, of every process. */
export interface ProcessStatus {
  /** How many items it works on at a time. */
  readonly workers: number
  /** How many it works on now. */
  readonly running: number
  /** Items it has claimed: those it works on, and those that wait in it for a worker. */
  readonly held: number
  /** It is stopping and begins nothing new. */
  readonly draining: boolean
  /** Whether it hears the wake-ups of other processes: not asked to; yes; it should, but lost the connection. */
  readonly listening: 'off' | 'on' | 'lost'
  /** What became of the events that it has met since its start. */
  readonly events: Readonly<Record<EventStage, number>>
}

export interface QueueStatus extends QueueNumbers {
  /** Over all types of `byType`. */
  readonly total: Numbers
  readonly process: ProcessStatus
}

export interface QueueAdmin {
  /** Only of these types; of those, only the ones that this process handles. */
  status(itemTypes: readonly string[]): Promise<QueueStatus>
  /** One page, newest first. */
  deadEvents(filter: DeadEventFilter): Promise<{ readonly events: readonly DeadEvent[]; readonly next: string | null }>
  /** @throws WorkQueueError `dead_event_not_found`. */
  deadEvent(eventId: string): Promise<DeadEvent>
  /** Another five tries. @throws WorkQueueError `dead_event_not_found`, `item_not_active`. */
  revive(eventId: string, caller: string): Promise<RevivedEvent>
  /** The same for every dead event of one item. @throws WorkQueueError `dead_event_not_found`, `item_not_active`. */
  reviveAllOf(workItemId: string, caller: string): Promise<readonly RevivedEvent[]>
}

export interface QueueAdminDependencies {
  readonly db: Database
  /** By name; the keys are the types that this process handles. */
  readonly itemTypes: ReadonlyMap<string, unknown>
  readonly audit: Audit
  /** Wakes the item's worker in this process. */
  readonly notify: (workItemId: string) => void
  readonly processStatus: () => ProcessStatus
}

export function createQueueAdmin(dependencies: QueueAdminDependencies): QueueAdmin {
  const { db, itemTypes, audit, notify, processStatus } = dependencies
  const handled = (names: readonly string[]) => names.filter((name) => itemTypes.has(name))

  async function deadEvent(eventId: string): Promise<DeadEvent> {
    const event = await findDeadEvent(db, eventId)
    if (event === null || !itemTypes.has(event.itemType)) throw noSuchEvent(eventId)
    return event
  }

  function announce(revived: readonly RevivedEvent[], caller: string): void {
    for (const { id, workItemId, itemType, eventType } of revived) {
      audit.record({
        event_type: 'event',
        work_item_id: workItemId,
        item_type: itemType,
        caller,
        action: eventType,
        outcome: 'revived',
        facts: { event_id: id },
      })
    }
    for (const workItemId of new Set(revived.map((event) => event.workItemId))) notify(workItemId)
  }

  return {
    async status(names) {
      const numbers = await readQueueStatus(db, handled(names))
      return { ...numbers, total: totalOf(numbers.byType), process: processStatus() }
    },
    async deadEvents(filter) {
      const events = await listDeadEvents(db, {
        ...filter,
        itemTypes: handled(filter.itemTypes),
        limit: filter.limit + 1,
      })
      const page = events.slice(0, filter.limit)
      return { events: page, next: events.length > page.length ? (page.at(-1)?.id ?? null) : null }
    },
    deadEvent,
    async revive(eventId, caller) {
      const revived = await reviveDeadEvent(db, eventId)
      if (revived === null) {
        const { workItemId, phase } = await deadEvent(eventId)
        // Still dead, so it was the item that refused; an active one has come back between the two statements.
        throw notActive(workItemId, phase)
      }
      announce([revived], caller)
      return revived
    },
    async reviveAllOf(workItemId, caller) {
      const revived = await reviveDeadEventsOf(db, workItemId)
      if (revived.length === 0) throw await whyNoneOf(db, workItemId)
      announce(revived, caller)
      return revived
    },
  }
}

function totalOf(groups: readonly Numbers[]): Numbers {
  const sum = (number: (group: Numbers) => number) => groups.reduce((total, group) => total + number(group), 0)
  const first = (time: (group: Numbers) => Date | null) =>
    groups.reduce<Date | null>((nearest, group) => {
      const at = time(group)
      return nearest === null || (at !== null && at < nearest) ? at : nearest
    }, null)
  return {
    due: sum(({ due }) => due),
    oldestDueAt: first(({ oldestDueAt }) => oldestDueAt),
    running: sum(({ running }) => running),
    backoff: sum(({ backoff }) => backoff),
    nextRetryAt: first(({ nextRetryAt }) => nextRetryAt),
    pendingEvents: sum(({ pendingEvents }) => pendingEvents),
    oldestEventAt: first(({ oldestEventAt }) => oldestEventAt),
    deadEvents: sum(({ deadEvents }) => deadEvents),
    active: sum(({ active }) => active),
    deferred: sum(({ deferred }) => deferred),
    nextLookAt: first(({ nextLookAt }) => nextLookAt),
    countedAll: groups.every(({ countedAll }) => countedAll),
  }
}

async function whyNoneOf(db: Database, workItemId: string): Promise<WorkQueueError> {
  const read = await readWorkItem(db, workItemId)
  if (read !== null && read.item.phase !== 'active') return notActive(workItemId, read.item.phase)
  return new WorkQueueError('dead_event_not_found', `Work item ${workItemId} has no dead events.`)
}

function noSuchEvent(eventId: string): WorkQueueError {
  return new WorkQueueError(
    'dead_event_not_found',
    `There is no dead event ${eventId}: it was revived, went with its item, or never was. See: wq queue dead-events`,
  )
}

function notActive(workItemId: string, phase: Phase): WorkQueueError {
  return new WorkQueueError('item_not_active', `Work item ${workItemId} ${REFUSALS[phase](workItemId)}`)
}

const bringBack = (phase: Phase) => (id: string) =>
  `is ${phase}, and takes no events. Bring it back first (wq retry ${id}), and then revive its events.`

const REFUSALS: Readonly<Record<Phase, (id: string) => string>> = {
  active: () => 'has just become active again; revive its events once more.',
  failed: bringBack('failed'),
  cancelled: bringBack('cancelled'),
  completed: () => 'is completed, and takes no events any more: nothing is left that they could change.',
}
