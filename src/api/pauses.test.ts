import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aNote, type Caller, startTestApi, type TestApi, UNKNOWN_ID } from '../../test/support/api.ts'
import { pauseSchema, pausesSchema } from '../contract/pauses.ts'

let api: TestApi
beforeEach(async () => {
  api = await startTestApi()
})
afterEach(() => api.app.close())

function end(id: string, caller: Caller) {
  return api.app.inject({ method: 'DELETE', url: `/api/v1/pauses/${id}`, headers: api.bearer(caller) })
}

describe('pausing', () => {
  test('is made, listed and ended, and both are for whoever asked', async () => {
    const made = await api.post('/pauses', { caller: 'token:notes', reason: 'too eager' }, 'operator')
    expect(made.statusCode).toBe(201)
    const pause = pauseSchema.parse(made.json())
    expect(pause).toMatchObject({
      caller: 'token:notes',
      item_type: null,
      concurrency_key: null,
      created_by: 'token:operator',
    })
    expect(pausesSchema.parse((await api.get('/pauses', 'operator')).json()).pauses).toEqual([pause])
    expect((await end(pause.id, 'operator')).json()).toEqual(pause)
    expect((await api.get('/pauses', 'operator')).json()).toEqual({ pauses: [] })
    expect((await end(pause.id, 'operator')).json().code).toBe('pause_not_found')
  })

  test.each<[string, object, string]>([
    ['nothing in particular', { reason: 'x' }, ''],
    ['everything and something', { everything: true, caller: 'a', reason: 'x' }, ''],
    ['without a reason', { everything: true }, '/reason'],
    ['with a line break', { caller: 'a\nb', reason: 'x' }, '/caller'],
    ['with an unknown key', { project: 'a', reason: 'x' }, '/project'],
  ])('%s is refused with a word on what to send', async (_title, body, path) => {
    const answer = await api.post('/pauses', body, 'operator')
    expect([answer.statusCode, answer.json().code]).toEqual([400, 'invalid_request'])
    expect(answer.json().findings.map((finding: { path: string }) => finding.path)).toContain(path)
  })

  test.each<[Caller, object, number]>([
    ['operator', { everything: true }, 201],
    ['noteOperator', { item_type: 'note' }, 201],
    ['noteOperator', { item_type: 'note', caller: 'x' }, 201],
    ['noteOperator', { everything: true }, 403],
    ['noteOperator', { caller: 'x' }, 403],
    ['noteOperator', { item_type: 'memo' }, 403],
    ['teamOperator', { concurrency_key: 'team' }, 201],
    ['teamOperator', { concurrency_key: 'team', caller: 'x' }, 201],
    ['teamOperator', { concurrency_key: 'others' }, 403],
    ['teamOperator', { caller: 'x' }, 403],
    ['teamOperator', { everything: true }, 403],
    ['all', { caller: 'x' }, 403],
  ])('%s pausing %j: %i', async (caller, scope, status) => {
    const made = await api.post('/pauses', { ...scope, reason: 'x' }, caller)
    expect(made.statusCode).toBe(status)
    if (status !== 201) return
    expect(api.entries.at(-1)).toMatchObject({ action: 'admin', outcome: 'allowed', caller: `token:${caller}` })
  })

  test('ends by whoever may have made it', async () => {
    const made = pauseSchema.parse((await api.post('/pauses', { everything: true, reason: 'x' }, 'operator')).json())
    expect((await end(made.id, 'noteOperator')).statusCode).toBe(403)
    expect((await end(UNKNOWN_ID, 'noteOperator')).statusCode).toBe(404)
    expect((await end(made.id, 'all')).statusCode).toBe(403)
    expect((await api.get('/pauses', 'noteOperator')).json().pauses).toHaveLength(1)
    expect((await api.post('/work-items', aNote)).statusCode).toBe(201)
  })
})
