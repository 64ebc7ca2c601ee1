import { afterEach, describe, expect, test } from 'vitest'
import { startTestApi, type TestApi } from '../../test/support/api.ts'

let api: TestApi
afterEach(() => api.app.close())

const WRONG = { authorization: `Bearer wq_${'A'.repeat(43)}` }
const LIST = '/api/v1/work-items'

describe('a caller that asks too often', () => {
  test('is told to wait, and for how long; others are not', async () => {
    api = await startTestApi({ rateLimits: { per_caller: 2, refused_per_address: null } })
    const statuses = []
    for (let round = 0; round < 4; round += 1) statuses.push((await api.get('/work-items', 'reader')).statusCode)
    expect(statuses).toEqual([200, 200, 429, 429])
    const refused = await api.get('/work-items', 'reader')
    expect(refused.json()).toMatchObject({ code: 'too_many_requests', status: 429 })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(30)
    expect(api.entries.at(-1)).toMatchObject({
      caller: 'token:reader',
      outcome: 'denied',
      error_code: 'too_many_requests',
    })
    expect((await api.get('/work-items', 'all')).statusCode).toBe(200)
  })
})

describe('an address whose tokens are refused too often', () => {
  test('is not listened to any more, whatever token it sends; another address is', async () => {
    api = await startTestApi({ rateLimits: { per_caller: null, refused_per_address: 2 } })
    for (let round = 0; round < 3; round += 1)
      expect((await api.app.inject({ url: LIST, headers: WRONG })).statusCode).toBe(401)
    expect((await api.app.inject({ url: LIST, headers: WRONG })).json().code).toBe('too_many_requests')
    expect((await api.get('/work-items', 'all')).statusCode).toBe(429)
    expect(api.entries.at(-1)).toMatchObject({ outcome: 'denied', error_code: 'too_many_requests' })
    const elsewhere = await api.app.inject({ url: LIST, headers: api.bearer('all'), remoteAddress: '192.0.2.7' })
    expect(elsewhere.statusCode).toBe(200)
    expect((await api.app.inject('/healthz')).statusCode).toBe(200)
  })

  test('is the one that a trusted proxy names, and nobody else', async () => {
    const rateLimits = { per_caller: null, refused_per_address: 1 }
    api = await startTestApi({ rateLimits, trustedProxies: ['10.0.0.0/8'] })
    const send = (remoteAddress: string, forwarded: string, headers = WRONG) =>
      api.app.inject({ url: LIST, remoteAddress, headers: { ...headers, 'x-forwarded-for': forwarded } })
    for (let round = 0; round < 2; round += 1) expect((await send('10.1.1.1', '192.0.2.1')).statusCode).toBe(401)
    expect((await send('10.1.1.1', '192.0.2.1')).statusCode).toBe(429)
    expect((await send('10.1.1.1', '192.0.2.2')).statusCode).toBe(401)
    // Not behind the proxy: what it says of itself counts for nothing.
    for (const claimed of ['192.0.2.3', '192.0.2.4']) expect((await send('198.51.100.1', claimed)).statusCode).toBe(401)
    expect((await send('198.51.100.1', '192.0.2.5')).statusCode).toBe(429)
  })
})
