import { describe, expect, test } from 'vitest'
import { NIGHT, QUIET } from '../../test/support/fake-queue-admin.ts'
import { createEventCounts } from '../lib/event-counts.ts'
import { silentLog } from '../lib/log.ts'
import type { QueueStatus } from '../queue/queue-admin.ts'
import { createMetrics } from './metrics.ts'

const earlier = (seconds: number) => new Date(NIGHT.getTime() - seconds * 1_000)

function statusOf(group: Partial<QueueStatus['total']>): QueueStatus {
  const total = { ...QUIET, ...group }
  return {
    now: NIGHT,
    total,
    byType: [{ itemType: 'mr', ...total }],
    byKey: [{ itemType: 'mr', concurrencyKey: 'secret/project', ...QUIET }],
    running: [],
    oldestDue: { id: 'an-item', itemType: 'mr', since: NIGHT },
    process: {
      ...{ workers: 10, running: 3, held: 3, draining: false, listening: 'lost' },
      events: createEventCounts().read(),
    },
  }
}

/** The value of one line; undefined: there is none. */
function valueIn(text: string, series: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

describe('the metrics', () => {
  test("tell what became of events, what waits and for how long, and nobody's name", async () => {
    const counts = createEventCounts()
    counts.add('received_sqs', 12)
    counts.add('stale')
    const status = statusOf({
      due: 4,
      oldestDueAt: earlier(9),
      pendingEvents: 7,
      oldestEventAt: earlier(90),
      deadEvents: 1,
    })
    const metrics = createMetrics({
      ...{ counts, log: silentLog },
      queueStatus: async () => status,
      sqsStatus: () => ({ state: 'receiving', lagMs: 1_500 }),
    })
    const text = await metrics.read()
    expect(
      Object.fromEntries(
        [
          'workqueue_events_total{stage="received_sqs"}',
          'workqueue_events_total{stage="stale"}',
          'workqueue_events_total{stage="dead"}',
          'workqueue_items{item_type="mr",state="due"}',
          'workqueue_oldest_due_age_seconds{item_type="mr"}',
          'workqueue_pending_events{item_type="mr"}',
          'workqueue_oldest_event_age_seconds{item_type="mr"}',
          'workqueue_dead_events{item_type="mr"}',
          'workqueue_workers{state="busy"}',
          'workqueue_wake_channel_up',
          'workqueue_event_queue_up',
          'workqueue_event_queue_lag_seconds',
        ].map((series) => [series.replace(/^workqueue_|item_type="mr",?/g, ''), valueIn(text, series)]),
      ),
    ).toEqual({
      'events_total{stage="received_sqs"}': 12,
      'events_total{stage="stale"}': 1,
      'events_total{stage="dead"}': 0,
      'items{state="due"}': 4,
      'oldest_due_age_seconds{}': 9,
      'pending_events{}': 7,
      'oldest_event_age_seconds{}': 90,
      'dead_events{}': 1,
      'workers{state="busy"}': 3,
      wake_channel_up: 0,
      event_queue_up: 1,
      event_queue_lag_seconds: 1.5,
    })
    expect(text).not.toMatch(/secret|an-item/)
  })

  test('ask the database once for readers who come together, and go on without it', async () => {
    let asked = 0
    const metrics = createMetrics({
      ...{ counts: createEventCounts(), log: silentLog },
      async queueStatus() {
        asked += 1
        throw new Error('away')
      },
      sqsStatus: () => null,
    })
    const [text] = await Promise.all([metrics.read(), metrics.read(), metrics.read()])
    expect(asked).toBe(1)
    expect(valueIn(text ?? '', 'workqueue_events_total{stage="drained"}')).toBe(0)
    for (const missing of ['workqueue_items{', 'workqueue_wake_channel_up ', 'workqueue_event_queue_up ']) {
      expect(text).not.toContain(`\n${missing}`)
    }
  })
})
