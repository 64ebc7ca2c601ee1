import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aNote, rawRequest, startTestApi, type TestApi, UNKNOWN_ID } from '../../test/support/api.ts'
import { problemSchema } from '../contract/problem.ts'
import { WorkQueueError } from '../lib/errors.ts'

let api: TestApi

beforeEach(async () => {
  api = await startTestApi()
})
afterEach(() => api.app.close())

describe('bad requests', () => {
  test.each<[string, string | object, number, string]>([
    ['malformed JSON', '{"item_type": "note",\n}', 400, 'malformed_json'],
    ['an empty body', '', 400, 'invalid_request'],
    ['a body that is no object', '[1]', 400, 'invalid_request'],
    ['no item type', { name: 'x' }, 400, 'invalid_request'],
    ['an item type that is no text', { item_type: 7 }, 400, 'invalid_request'],
    ['an item type nobody serves', { item_type: 'nope' }, 422, 'item_type_not_handled'],
    ['a NUL in a text', { ...aNote, text: 'a\0' }, 400, 'invalid_request'],
    ['half a surrogate pair', '{"item_type":"note","name":"x","text":"\\ud800"}', 400, 'invalid_request'],
    ['a __proto__ key', '{"item_type":"note","__proto__":{}}', 400, 'invalid_request'],
    ['hostile nesting', `{"item_type":"note","x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, 400, 'invalid_request'],
  ])('answers %s with a problem', async (_title, body, status, code) => {
    const answer = await api.post('/work-items', body)
    expect(problemSchema.parse(answer.json())).toMatchObject({
      status,
      code,
      request_id: answer.headers['x-request-id'],
    })
    expect(answer.statusCode).toBe(status)
  })

  test('names the place where JSON ends', async () => {
    const { detail } = (await api.post('/work-items', '{"item_type": "note",\n}')).json()
    expect(detail).toContain('line 2, column 1')
  })

  test('refuses bytes that are not UTF-8', async () => {
    const answer = await api.app.inject({
      method: 'POST',
      url: '/api/v1/work-items',
      headers: { ...api.bearer('all'), 'content-type': 'application/json' },
      payload: Buffer.from([0x22, 0xff, 0x22]),
    })
    expect(answer.json().code).toBe('invalid_utf8')
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/xml'])(
    'takes no %s',
    async (type) => {
      const headers = { ...api.bearer('all'), 'content-type': type }
      const answer = await api.app.inject({ method: 'POST', url: '/api/v1/work-items', headers, payload: 'x' })
      expect(answer.json()).toMatchObject({ status: 415, code: 'unsupported_media_type' })
    },
  )

  test('takes submissions up to 8 MiB and refuses larger ones', async () => {
    expect((await api.post('/work-items', { ...aNote, text: 'x'.repeat(7 * 1024 * 1024) })).statusCode).toBe(201)
    const answer = await api.post('/work-items', { ...aNote, text: 'x'.repeat(8 * 1024 * 1024) })
    expect(answer.json()).toMatchObject({ status: 413, code: 'payload_too_large' })
  })

  test.each([
    ['/work-items?limit=0', '/limit'],
    ['/work-items?limit=101', '/limit'],
    ['/work-items?limit=x', '/limit'],
    ['/work-items?limit=1&limit=2', '/limit'],
    ['/work-items?phase=done', '/phase'],
    ['/work-items?before=1', '/before'],
    ['/work-items?search=%00', '/search'],
    ['/work-items?sort=asc', '/sort'],
    ['/work-items/17', '/id'],
    ['/work-items/%7B01890a5d-ac96-774b-bcce-b302099a8057%7D', '/id'],
    [`/work-items/${UNKNOWN_ID}?verbose=1`, '/verbose'],
  ])('names the field that is wrong in %s', async (path, pointer) => {
    const answer = await api.get(path)
    expect(answer.json()).toMatchObject({ status: 400, code: 'invalid_request', findings: [{ path: pointer }] })
  })

  test.each([
    ['GET', '/nope', 404, 'not_found'],
    ['GET', '/api/v2/work-items', 404, 'not_found'],
    ['GET', `/api/v1/work-items/${'x'.repeat(500)}`, 414, 'uri_too_long'],
    ['GET', '/api/v1/work-items/%zz', 400, 'invalid_request'],
  ] as const)('answers %s %s with a problem', async (method, url, status, code) => {
    const answer = await api.app.inject({ method, url, headers: api.bearer('all') })
    expect(problemSchema.parse(answer.json())).toMatchObject({ status, code })
    expect(answer.body.length).toBeLessThan(800)
  })

  test('says which methods an address takes', async () => {
    const answer = await api.app.inject({ method: 'DELETE', url: `/api/v1/work-items/${UNKNOWN_ID}` })
    expect(answer.json()).toMatchObject({ status: 405, code: 'method_not_allowed' })
    expect(answer.headers['allow']).toContain('GET')
  })

  test('answers an unknown id with 404', async () => {
    expect((await api.get(`/work-items/${UNKNOWN_ID}`)).json()).toMatchObject({
      status: 404,
      code: 'work_item_not_found',
    })
  })

  test('keeps the request id of the caller when it is harmless, and makes one when it is not', async () => {
    const ask = (id: string) => api.app.inject({ url: '/healthz', headers: { 'x-request-id': id } })
    expect((await ask('trace-7')).headers['x-request-id']).toBe('trace-7')
    expect((await ask('a b\u00e9"}')).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('the edge of HTTP', () => {
  test.each([
    ['bytes that are no HTTP', ['GARBAGE'], 400, 'invalid_request'],
    ['headers beyond 16 KiB', ['GET / HTTP/1.1', 'host: x', `x: ${'a'.repeat(20_000)}`], 431, 'headers_too_large'],
    ['two lengths', ['POST / HTTP/1.1', 'host: x', 'content-length: 1', 'content-length: 2'], 400, 'invalid_request'],
  ])('answers %s with a problem', async (_title, lines, status, code) => {
    await api.app.listen({ host: '127.0.0.1', port: 0 })
    const answer = await rawRequest(api, lines)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(problemSchema.parse(JSON.parse(answer.slice(answer.indexOf('{')))).code).toBe(code)
  })

  test('lets no request trickle in for ever', () => {
    const { requestTimeout, headersTimeout } = api.app.server
    expect([requestTimeout, headersTimeout]).toEqual([30_000, 10_000])
  })
})

describe('trouble behind the API', () => {
  const withCode = (code: string, message = 'x') => Object.assign(new Error(message), { code })

  test.each<[string, unknown, number, string]>([
    ['a refused connection', withCode('ECONNREFUSED'), 503, 'database_unavailable'],
    ['a server that starts up', withCode('57P03'), 503, 'database_unavailable'],
    ['a server that was stopped', withCode('57P01'), 503, 'database_unavailable'],
    ['a lost connection', withCode('08006'), 503, 'database_unavailable'],
    ['an exhausted pool', new Error('timeout exceeded when trying to connect'), 503, 'database_unavailable'],
    ['a connection cut', new Error('Connection terminated unexpectedly'), 503, 'database_unavailable'],
    ['a value the database refuses', withCode('22021'), 422, 'unstorable_value'],
    ['too many racing submissions', new WorkQueueError('busy', 'Later.', { failure: 'transient' }), 503, 'busy'],
    ['GitLab being away', new WorkQueueError('gitlab_x', 'secret', { failure: 'transient' }), 503, 'unavailable'],
    ['an error nobody foresaw', new TypeError('secret insides'), 500, 'internal_error'],
    ['a code that is not public', new WorkQueueError('insides', 'secret insides'), 500, 'internal_error'],
    ['something that is no error', 'secret', 500, 'internal_error'],
  ])('answers %s', async (_title, error, status, code) => {
    api.queue.failNext(error)
    const answer = await api.post('/work-items', aNote)
    expect(problemSchema.parse(answer.json())).toMatchObject({ status, code })
    expect(answer.body).not.toContain('secret')
    expect(answer.headers['retry-after']).toBe(status === 503 ? '5' : undefined)
  })

  test('says how long to wait when the other side said so', async () => {
    api.queue.failNext(new WorkQueueError('busy', 'Later.', { failure: 'transient', retryAfterMs: 61_500 }))
    expect((await api.get('/work-items')).headers['retry-after']).toBe('62')
  })

  test('logs what it does not tell, under the request id', async () => {
    const lines: { fields: object; message: string }[] = []
    const error = (fields: object, message: string) => void lines.push({ fields, message })
    const logging = await startTestApi({ log: { debug() {}, info() {}, warn() {}, error } })
    logging.queue.failNext(new TypeError('insides'))
    const answer = await logging.app.inject({ url: '/api/v1/work-items', headers: logging.bearer('all') })
    expect(lines).toMatchObject([{ fields: { request_id: answer.json().request_id, error: 'insides' } }])
    await logging.app.close()
  })
})
