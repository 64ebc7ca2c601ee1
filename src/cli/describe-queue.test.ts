import pc from 'picocolors'
import { describe, expect, test } from 'vitest'
import type { QueueStatus } from '../contract/queue.ts'
import { createEventCounts } from '../lib/event-counts.ts'
import { statusText } from './describe-queue.ts'

const NOW = '2026-03-02T03:00:00.000Z'
const ID = '01890a5d-ac96-774b-bcce-b302099a8057'

/** The instant this many seconds from NOW. */
const at = (seconds: number) => new Date(Date.parse(NOW) + seconds * 1_000).toISOString()

const awake = {
  due: 0,
  oldest_due_at: null,
  running: 0,
  backoff: 0,
  next_retry_at: null,
  pending_events: 0,
  oldest_event_at: null,
  dead_events: 0,
}
const quiet = { ...awake, active: 0, deferred: 0, next_look_at: null, idle: 0, counted_all: true }

interface Given {
  readonly total?: Partial<QueueStatus['total']>
  readonly process?: Partial<QueueStatus['process']>
  readonly oldest?: number
  readonly keys?: readonly Partial<QueueStatus['by_concurrency_key'][number]>[]
  readonly running?: readonly Partial<QueueStatus['running_items'][number]>[]
  readonly types?: readonly string[]
}

function text({ total = {}, process = {}, oldest, keys = [], running = [], types = ['mr'] }: Given): string {
  const status: QueueStatus = {
    now: NOW,
    item_types: [...types],
    total: { ...quiet, ...total },
    by_item_type: types.map((item_type) => ({ ...quiet, ...total, item_type })),
    by_concurrency_key: keys.map((key) => ({ ...awake, item_type: 'mr', concurrency_key: 'team/app', ...key })),
    running_items: running.map((item) => ({
      id: ID,
      item_type: 'mr',
      dedup_key: 'mr:team/app:bot/x',
      concurrency_key: 'team/app',
      leased_at: at(-5),
      leased_until: at(25),
      attempts: 0,
      ...item,
    })),
    oldest_due: oldest === undefined ? null : { id: ID, item_type: 'mr', since: at(oldest) },
    process: {
      ...{ workers: 10, running: 0, held: 0, draining: false, listening: 'on' },
      events: createEventCounts().read(),
      ...process,
    },
  }
  return statusText(status, pc.createColors(false)).join('\n')
}

describe('the numbers', () => {
  test('come with their ages and with what happens next', () => {
    const total = { due: 2, backoff: 1, next_retry_at: at(90), deferred: 4, next_look_at: at(3), active: 9, idle: 2 }
    const said = text({ total, oldest: -5 })
    expect(said).toContain('Queue of mr, 2026-03-02 03:00:00 UTC')
    expect(said).toMatch(new RegExp(`^due +2 +the oldest for 5s: ${ID}$`, 'm'))
    expect(said).toMatch(/^in backoff +1 +next try in 1m 30s$/m)
    expect(said).toMatch(/^put off +4 +next look in 3s$/m)
    expect(said).toMatch(/^idle +2 +an event or a caller wakes them$/m)
  })

  test('say when there are more than were counted', () => {
    const said = text({ total: { active: 10_000, deferred: 9_000, idle: null, counted_all: false } })
    expect(said).toMatch(/^active +10000 or more/m)
    expect(said).toMatch(/^put off +9000 or more/m)
    expect(said).toMatch(/^idle +not counted/m)
  })

  test.each([
    [-0.2, '0s'],
    [-59, '59s'],
    [-60, '1m'],
    [-3_725, '1h 2m'],
    [-86_400 * 3 - 5, '3d'],
    [7, '0s'],
  ])('tell %d seconds as %s', (seconds, age) => {
    expect(text({ total: { due: 1 }, oldest: seconds })).toContain(`the oldest for ${age}: `)
  })

  test('show keys, and what runs, without control characters', () => {
    const said = text({
      keys: [{ due: 3, oldest_due_at: at(-30), running: 2, concurrency_key: 'evil\u001b[31m' }],
      running: [{ dedup_key: 'two\nlines' }],
    })
    expect(said).toMatch(/^mr +evil \[31m +3 +30s +2 +0 +0 +0$/m)
    expect(said).toMatch(new RegExp(`^${ID} +5s +25s +0 +two lines$`, 'm'))
  })
})

describe('the advice', () => {
  test.each<[string, Given]>([
    ['nothing is there', {}],
    ['work is taken within moments', { total: { due: 3, running: 1 }, oldest: -30 }],
    ['items wait for their time', { total: { backoff: 2, next_retry_at: at(100), deferred: 9 } }],
    ['the process was not asked to listen', { process: { listening: 'off' } }],
  ])('is none when %s', (_title, given) => {
    expect(text(given)).toMatch(/\nNothing calls for you\.$/)
  })

  test.each<[string, Given, string]>([
    ['nobody works on what is due', { total: { due: 5 }, oldest: -600 }, 'Nobody works on them.'],
    [
      'all workers are busy',
      { total: { due: 5, running: 10 }, oldest: -600, process: { running: 10 } },
      'start another process, or raise queue.workers',
    ],
    [
      'one key has all its places taken',
      { total: { due: 5, running: 5 }, oldest: -600, keys: [{ due: 5, running: 5 }], process: { running: 5 } },
      '5 of the items wait for a place in team/app.',
    ],
    ['one item is stuck', { total: { due: 1, running: 1 }, oldest: -600 }, `wq show ${ID}`],
    ['an item runs for very long', { total: { running: 1 }, running: [{ leased_at: at(-1_200) }] }, 'for 20m.'],
    ['events wait', { total: { pending_events: 4, oldest_event_at: at(-120) } }, '4 events wait, the oldest for 2m.'],
    ['events were set aside', { total: { dead_events: 2 } }, 'wq queue dead-events'],
    ['the process is stopping', { process: { draining: true } }, 'begins nothing new'],
    ['wake-ups are not heard', { process: { listening: 'lost' } }, 'found by the sweep'],
    ['nothing is handled', { types: [] }, 'handled_types'],
  ])('tells what to do when %s', (_title, given, part) => {
    const said = text(given)
    expect(said).toContain(part)
    expect(said).not.toContain('Nothing calls for you')
  })
})
