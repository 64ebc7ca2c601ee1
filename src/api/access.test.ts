import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aNote, type Caller, rawRequest, startTestApi, type TestApi, UNKNOWN_ID } from '../../test/support/api.ts'

let api: TestApi

beforeEach(async () => {
  api = await startTestApi()
})
afterEach(() => api.app.close())

describe('who may do what', () => {
  const doors = [
    ['POST', '/api/v1/work-items'],
    ['GET', '/api/v1/work-items'],
    ['GET', `/api/v1/work-items/${UNKNOWN_ID}`],
    ['POST', `/api/v1/work-items/${UNKNOWN_ID}/retry`],
    ['POST', `/api/v1/work-items/${UNKNOWN_ID}/cancel`],
  ] as const

  test.each(doors)('%s %s is closed without a token', async (method, url) => {
    const answer = await api.app.inject({ method, url })
    expect(answer.json()).toMatchObject({ status: 401, code: 'unauthenticated' })
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="workqueue-service"')
    expect(api.entries).toMatchObject([{ event_type: 'auth', outcome: 'denied', facts: { reason: 'missing' } }])
  })

  test('every bad token gets the same answer, whatever is wrong with it', async () => {
    const bodies = []
    const bad = [api.bearer('expired').authorization, `Bearer wq_${'A'.repeat(43)}`, 'Bearer x', 'Basic eDp5']
    for (const authorization of bad) {
      const headers = { authorization, 'x-request-id': 'same' }
      const answer = await api.app.inject({ url: '/api/v1/work-items', headers })
      bodies.push(answer.body + answer.headers['www-authenticate'])
    }
    expect(new Set(bodies).size).toBe(1)
    expect(bodies[0]).toContain('error="invalid_token"')
    expect(api.entries.map(({ facts }) => facts?.['reason'])).toEqual([
      'expired',
      'unknown_token',
      'malformed',
      'malformed',
    ])
  })

  test('two Authorization headers are refused, even if the first is valid', async () => {
    const { authorization } = api.bearer('all')
    await api.app.listen({ host: '127.0.0.1', port: 0 })
    const answer = await rawRequest(api, [
      ...['GET /api/v1/work-items HTTP/1.1', 'host: x', `authorization: ${authorization}`],
      ...['Authorization: Bearer x', 'connection: close'],
    ])
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(answer).toContain('came more than once')
  })

  test.each<[Caller, string, object | undefined, number]>([
    ['reader', '/work-items', aNote, 403],
    ['reader', '/work-items/ID/retry', undefined, 403],
    ['reader', '/work-items/ID/cancel', undefined, 403],
    ['notes', '/work-items', aNote, 200],
    ['notes', '/work-items', { ...aNote, item_type: 'memo' }, 403],
    ['notes', '/work-items/ID/cancel', undefined, 403],
    ['all', '/work-items/ID/cancel', undefined, 202],
  ])('%s posting to %s with %j', async (caller, path, body, status) => {
    const id = await api.submitted()
    const answer = await api.post(path.replace('ID', id), body, caller)
    expect(answer.statusCode).toBe(status)
    if (status === 403) expect(answer.json().code).toBe('permission_denied')
    expect(api.entries.at(-1)).toMatchObject({
      caller: `token:${caller}`,
      outcome: status === 403 ? 'denied' : 'allowed',
      facts: { rules: [caller] },
    })
  })

  test('an item of a type that the caller may not see does not exist for it', async () => {
    const id = await api.submitted({ ...aNote, item_type: 'memo' })
    expect((await api.get(`/work-items/${id}`, 'notes')).json()).toMatchObject({ code: 'work_item_not_found' })
    expect((await api.get(`/work-items/${id}`, 'reader')).statusCode).toBe(200)
    expect((await api.get('/work-items', 'notes')).json().items).toEqual([])
    expect((await api.get('/work-items', 'reader')).json().items).toHaveLength(1)
  })

  test.each<[string, number]>([
    ['team/bot-1', 201],
    ['team/main', 403],
    ['others/bot-1', 403],
    ['bot-1', 403],
  ])('a caller limited to some projects and branches submits %s: %i', async (name, status) => {
    for (const path of ['/inspect', '/work-items']) {
      const answer = await api.post(path, { ...aNote, name }, 'team')
      expect(answer.statusCode).toBe(status === 201 && path === '/inspect' ? 200 : status)
      if (status === 403) expect(answer.json().code).toBe('permission_denied')
    }
  })

  test('to a caller limited to some projects and branches, other items do not exist', async () => {
    const mine = await api.submitted({ ...aNote, name: 'team/bot-1' })
    const others = await Promise.all(
      ['team/main', 'others/bot-1', 'bot-1'].map((name) => api.submitted({ ...aNote, name })),
    )
    expect((await api.get('/work-items', 'team')).json().items).toMatchObject([{ id: mine }])
    expect((await api.get(`/work-items/${mine}`, 'team')).statusCode).toBe(200)
    expect((await api.post(`/work-items/${mine}/cancel`, undefined, 'team')).statusCode).toBe(202)
    for (const id of others) {
      expect((await api.get(`/work-items/${id}`, 'team')).json().code).toBe('work_item_not_found')
      expect((await api.post(`/work-items/${id}/cancel`, undefined, 'team')).json().code).toBe('work_item_not_found')
    }
    expect(api.entries.at(-1)).toMatchObject({ caller: 'token:team', outcome: 'denied', facts: { rules: ['team'] } })
  })

  test('a caller without the right is refused before its body is read', async () => {
    const answer = await api.post('/work-items', '{ not json', 'reader')
    expect(answer.json().code).toBe('permission_denied')
  })

  test('no token enters an audit entry', async () => {
    await api.submitted()
    await api.get('/work-items', 'expired')
    const text = JSON.stringify(api.entries)
    expect(text).toContain('expired')
    for (const { token, sha256 } of Object.values(api.tokens)) {
      expect(text).not.toContain(token)
      expect(text).not.toContain(sha256)
    }
  })
})
