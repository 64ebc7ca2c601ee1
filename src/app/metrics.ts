/**
 * The service in numbers, in the text format of Prometheus: what became of events, what the queue holds and how old it is,
 * and the process itself. Anybody may read them (decision 0075), so no number is of a caller, a project or an item. What the
 * database is asked for is kept for a moment, so that whoever reads often costs no more; while it is away those numbers are
 * missing, and the rest is still told.
 */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { SqsStatus } from '../events/sqs-consumer.ts'
import { messageOf } from '../lib/errors.ts'
import { EVENT_STAGES, type EventCounts } from '../lib/event-counts.ts'
import type { Log } from '../lib/log.ts'
import type { QueueStatus } from '../queue/queue-admin.ts'

export interface MetricsDependencies {
  readonly counts: EventCounts
  readonly queueStatus: () => Promise<QueueStatus>
  /** null: no queue of events is read. */
  readonly sqsStatus: () => SqsStatus | null
  readonly log: Log
}

export interface Metrics {
  readonly contentType: string
  read(): Promise<string>
}

const KEPT_MS = 5_000

export function createMetrics({ counts, queueStatus, sqsStatus, log }: MetricsDependencies): Metrics {
  const register = new Registry()
  collectDefaultMetrics({ register })
  registerEvents(register, counts)
  registerSqs(register, sqsStatus)
  const showQueue = registerQueue(register)
  let asked: { readonly at: number; readonly shown: Promise<void> } | null = null

  async function ask(): Promise<void> {
    try {
      showQueue(await queueStatus())
    } catch (error) {
      showQueue(null)
      log.warn({ error: messageOf(error) }, 'the numbers of the queue could not be read')
    }
  }

  return {
    contentType: register.contentType,
    async read() {
      if (asked === null || performance.now() - asked.at > KEPT_MS) asked = { at: performance.now(), shown: ask() }
      await asked.shown
      return register.metrics()
    },
  }
}

function registerEvents(register: Registry, counts: EventCounts): void {
  new Counter({
    name: 'workqueue_events_total',
    help: 'Events by what became of them in this process since its start.',
    labelNames: ['stage'],
    registers: [register],
    collect() {
      this.reset()
      const numbers = counts.read()
      for (const stage of EVENT_STAGES) this.inc({ stage }, numbers[stage])
    },
  })
}

function registerSqs(register: Registry, status: () => SqsStatus | null): void {
  new Gauge({
    name: 'workqueue_event_queue_up',
    help: 'Whether the SQS queue of events answers this process: 1 or 0.',
    registers: [register],
    collect() {
      this.reset()
      const state = status()?.state
      if (state === undefined) this.remove()
      else this.set(state === 'receiving' ? 1 : 0)
    },
  })
  new Gauge({
    name: 'workqueue_event_queue_lag_seconds',
    help: 'How long the event that this process received last had waited in the SQS queue.',
    registers: [register],
    collect() {
      const lagMs = status()?.lagMs ?? null
      if (lagMs === null) this.remove()
      else this.set(lagMs / 1_000)
    },
  })
}

/** Answers how to show a state of the queue; null: it is not known. */
function registerQueue(register: Registry): (status: QueueStatus | null) => void {
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge<Label>({ name: `workqueue_${name}`, help, labelNames, registers: [register] })
  const items = gauge(
    'items',
    'Items by what they do; at least so many when there are very many.',
    'item_type',
    'state',
  )
  const oldestDue = gauge('oldest_due_age_seconds', 'Since when the oldest due item waits for a worker.', 'item_type')
  const events = gauge('pending_events', 'Stored events that were not applied yet.', 'item_type')
  const oldestEvent = gauge('oldest_event_age_seconds', 'Since when the oldest of them waits.', 'item_type')
  const dead = gauge('dead_events', 'Events that were set aside.', 'item_type')
  const workers = gauge('workers', 'Workers of this process: all of them, and those at work.', 'state')
  const channel = gauge('wake_channel_up', 'Whether this process hears the wake-ups of others: 1 or 0.')
  const all = [items, oldestDue, events, oldestEvent, dead, workers, channel]

  return (status) => {
    for (const one of all) one.reset()
    channel.remove()
    if (status === null) return
    const age = (since: Date | null) =>
      since === null ? 0 : Math.max(0, status.now.getTime() - since.getTime()) / 1_000
    for (const group of status.byType) {
      const { itemType: item_type } = group
      for (const state of ['active', 'due', 'running', 'backoff', 'deferred'] as const) {
        items.set({ item_type, state }, group[state])
      }
      oldestDue.set({ item_type }, age(group.oldestDueAt))
      events.set({ item_type }, group.pendingEvents)
      oldestEvent.set({ item_type }, age(group.oldestEventAt))
      dead.set({ item_type }, group.deadEvents)
    }
    workers.set({ state: 'all' }, status.process.workers)
    workers.set({ state: 'busy' }, status.process.running)
    if (status.process.listening !== 'off') channel.set(status.process.listening === 'on' ? 1 : 0)
  }
}
