import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aNote, startTestApi, type TestApi, UNKNOWN_ID } from '../../test/support/api.ts'
import { NIGHT, QUIET } from '../../test/support/fake-queue-admin.ts'
import { deadEventsSchema, queueStatusSchema, revivedSchema } from '../contract/queue.ts'

let api: TestApi

beforeEach(async () => {
  api = await startTestApi()
})
afterEach(() => api.app.close())

const aMemo = { ...aNote, item_type: 'memo' }

describe('the state of the queue', () => {
  test('is told with every number, and what exists beyond the count is not called idle', async () => {
    const total = { ...QUIET, due: 2, oldestDueAt: NIGHT, active: 9, deferred: 4, running: 1 }
    api.admin.show({ total, oldestDue: { id: UNKNOWN_ID, itemType: 'note', since: NIGHT } })
    const status = queueStatusSchema.parse((await api.get('/queue', 'operator')).json())
    expect(status).toMatchObject({
      now: NIGHT.toISOString(),
      item_types: ['note', 'memo'],
      total: { due: 2, oldest_due_at: NIGHT.toISOString(), running: 1, deferred: 4, idle: 2, counted_all: true },
      oldest_due: { id: UNKNOWN_ID, item_type: 'note' },
      process: { workers: 10, listening: 'on', draining: false },
    })
    api.admin.show({ total: { ...total, countedAll: false } })
    expect((await api.get('/queue', 'operator')).json().total).toMatchObject({ idle: null, counted_all: false })
  })

  test('is about the item types that the caller administers, and no others', async () => {
    expect((await api.get('/queue', 'noteOperator')).json()).toMatchObject({
      item_types: ['note'],
      by_item_type: [{ item_type: 'note' }],
    })
  })

  test.each(['reader', 'all'] as const)('is not for %s, who may read but not administer', async (caller) => {
    for (const path of ['/queue', '/queue/dead-events']) {
      expect((await api.get(path, caller)).json()).toMatchObject({ status: 403, code: 'permission_denied' })
    }
    expect(api.entries.at(-1)).toMatchObject({ action: 'admin', outcome: 'denied', caller: `token:${caller}` })
  })

  test('takes no query that it would have to ignore', async () => {
    expect((await api.get('/queue?verbose=1', 'operator')).json()).toMatchObject({ status: 400 })
  })
})

describe('dead events', () => {
  test('are listed newest first, page by page, without their bodies', async () => {
    const item = await api.submitted()
    for (let index = 0; index < 3; index += 1) await api.admin.addDead(item)
    const first = deadEventsSchema.parse((await api.get('/queue/dead-events?limit=2', 'operator')).json())
    expect(first.events.map(({ id }) => id)).toEqual(['3', '2'])
    expect(Object.keys(first.events[0] ?? {})).not.toContain('body')
    const second = await api.get(`/queue/dead-events?limit=2&before=${first.next}`, 'operator')
    expect(deadEventsSchema.parse(second.json())).toMatchObject({
      events: [{ id: '1', error: 'no such job' }],
      next: null,
    })
  })

  test('are listed for one item, and for types that the caller administers', async () => {
    const note = await api.submitted()
    const memo = await api.submitted(aMemo)
    await api.admin.addDead(note)
    await api.admin.addDead(memo)
    const listed = async (query: string, caller: 'operator' | 'noteOperator') =>
      deadEventsSchema
        .parse((await api.get(`/queue/dead-events${query}`, caller)).json())
        .events.map(({ work_item_id }) => work_item_id)
    expect(await listed('', 'operator')).toEqual([memo, note])
    expect(await listed('', 'noteOperator')).toEqual([note])
    expect(await listed(`?work_item_id=${note}`, 'operator')).toEqual([note])
  })

  test.each(['limit=0', 'before=x', 'before=0', 'before=99999999999999999999', 'work_item_id=1', 'phase=active'])(
    'refuses the query %s',
    async (query) => {
      expect((await api.get(`/queue/dead-events?${query}`, 'operator')).json()).toMatchObject({ status: 400 })
    },
  )
})

describe('reviving', () => {
  test('gives one event another try, in the name of the caller', async () => {
    const event = await api.admin.addDead(await api.submitted())
    const answer = await api.post(`/queue/dead-events/${event}/revive`, undefined, 'operator')
    expect(revivedSchema.parse(answer.json()).events).toMatchObject([{ id: event, event_type: 'pipeline' }])
    expect(api.admin.calls).toEqual([{ eventId: event, caller: 'token:operator' }])
    const again = await api.post(`/queue/dead-events/${event}/revive`, undefined, 'operator')
    expect(again.json()).toMatchObject({ status: 404, code: 'dead_event_not_found' })
  })

  test('gives all events of an item another try', async () => {
    const item = await api.submitted()
    for (let index = 0; index < 2; index += 1) await api.admin.addDead(item)
    const revive = () => api.post(`/work-items/${item}/revive-events`, undefined, 'operator')
    expect(revivedSchema.parse((await revive()).json()).events).toHaveLength(2)
    expect((await revive()).json()).toMatchObject({ status: 404, code: 'dead_event_not_found' })
  })

  test('is refused for an item that is over', async () => {
    const item = await api.submitted()
    const event = await api.admin.addDead(item)
    api.queue.change(item, { phase: 'failed', resolution: 'gave_up' })
    for (const path of [`/queue/dead-events/${event}/revive`, `/work-items/${item}/revive-events`]) {
      expect((await api.post(path, undefined, 'operator')).json()).toMatchObject({
        status: 409,
        code: 'item_not_active',
      })
    }
  })

  test('is refused to whoever does not administer the type, and does not tell that the item exists', async () => {
    const item = await api.submitted(aMemo)
    const event = await api.admin.addDead(item)
    const revive = (caller: 'reader' | 'noteOperator') =>
      api.post(`/queue/dead-events/${event}/revive`, undefined, caller)
    expect((await revive('reader')).json()).toMatchObject({ status: 403 })
    expect((await revive('noteOperator')).json()).toMatchObject({ status: 404, code: 'work_item_not_found' })
    expect(api.admin.calls).toEqual([])
  })

  test('takes no body, and no event that is not a number', async () => {
    const event = await api.admin.addDead(await api.submitted())
    const answers = [
      await api.post(`/queue/dead-events/${event}/revive`, { all: true }, 'operator'),
      await api.post('/queue/dead-events/first/revive', undefined, 'operator'),
    ]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 400])
  })
})
