import { createServer, type RequestListener, type Server } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { aNote, startTestApi, type TestApi, UNKNOWN_ID } from '../../test/support/api.ts'
import { WorkQueueError } from '../lib/errors.ts'
import { createClient } from './client.ts'
import { ApiProblem } from './errors.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function startApi(): Promise<{ api: TestApi; url: string }> {
  const api = await startTestApi()
  closers.push(() => api.app.close())
  return { api, url: await api.app.listen({ host: '127.0.0.1', port: 0 }) }
}

/** A server that answers as the test says. */
async function startServer(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return `http://127.0.0.1:${address.port}`
}

async function refusalOf(promise: Promise<unknown>): Promise<WorkQueueError> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof WorkQueueError)) throw new Error(`expected a WorkQueueError, got ${String(error)}`)
  return error
}

describe('the client, against the API', () => {
  test('submits, shows, lists, retries and cancels', async () => {
    const { api, url } = await startApi()
    const client = createClient({ url: `${url}/`, token: api.tokens.all.token })
    const { outcome, work_item } = await client.submit(aNote)
    expect(outcome).toBe('created')
    expect(await client.get(work_item.id)).toMatchObject({ id: work_item.id, phase: 'active' })
    expect((await client.list({ phase: 'active', search: 'greet', limit: 5 })).items).toHaveLength(1)
    expect((await client.list({ phase: 'failed' })).items).toEqual([])
    api.queue.change(work_item.id, { phase: 'failed' })
    expect((await client.retry(work_item.id)).phase).toBe('active')
    expect((await client.cancel(work_item.id)).id).toBe(work_item.id)
  })

  test('shows the queue, and revives what was set aside', async () => {
    const { api, url } = await startApi()
    const client = createClient({ url, token: api.tokens.operator.token })
    expect((await client.queueStatus()).process).toMatchObject({ workers: 10 })
    const item = await api.submitted()
    for (let index = 0; index < 2; index += 1) await api.admin.addDead(item)
    const { events, next } = await client.deadEvents({ limit: 1, work_item_id: item })
    expect([events.length, next]).toEqual([1, '2'])
    expect((await client.reviveEvent('2')).events).toMatchObject([{ id: '2', work_item_id: item }])
    expect((await client.reviveEventsOf(item)).events).toHaveLength(1)
    expect((await client.deadEvents()).events).toEqual([])
  })

  test('asks what a submission would do, findings included', async () => {
    const { api, url } = await startApi()
    const client = createClient({ url, token: api.tokens.all.token })
    expect(await client.inspect(aNote)).toMatchObject({ outcome: 'created', findings: [] })
    expect(await client.inspect({ item_type: 'note' })).toMatchObject({
      outcome: null,
      findings: [{ path: '/name' }, { path: '/text' }],
    })
    expect(await refusalOf(client.inspect('x'.repeat(9_000_000)))).toMatchObject({ code: 'payload_too_large' })
  })

  test('hands on what the service refuses, findings and request id included', async () => {
    const { api, url } = await startApi()
    const client = createClient({ url, token: api.tokens.all.token })
    const error = await refusalOf(client.submit({ item_type: 'note' }))
    expect(error).toBeInstanceOf(ApiProblem)
    expect(error).toMatchObject({ code: 'submission_rejected', status: 422, failure: 'permanent' })
    expect(error).toMatchObject({ findings: [{ path: '/name' }, { path: '/text' }], requestId: expect.any(String) })
    expect(await refusalOf(client.get(UNKNOWN_ID))).toMatchObject({ code: 'work_item_not_found' })
    const stranger = createClient({ url, token: `wq_${'A'.repeat(43)}` })
    expect(await refusalOf(stranger.list())).toMatchObject({ code: 'unauthenticated' })
  })

  test('repeats a read while the database is away, and no write', async () => {
    const { api, url } = await startApi()
    const waits: number[] = []
    const wait = async (ms: number) => void waits.push(ms)
    const client = createClient({ url, token: api.tokens.all.token, wait })
    const away = Object.assign(new Error('x'), { code: 'ECONNREFUSED' })
    api.queue.failNext(away)
    expect((await client.list()).items).toEqual([])
    expect(waits).toEqual([5_000])
    api.queue.failNext(away)
    expect(await refusalOf(client.submit(aNote))).toMatchObject({ code: 'database_unavailable', retryAfterMs: 5_000 })
    expect(waits).toEqual([5_000])
  })
})

describe('the client, against others', () => {
  test('says that nothing listens at the address, and what to do', async () => {
    const url = await startServer((_request, response) => response.end())
    await closers.pop()?.()
    const client = createClient({ url, token: 'x', wait: async () => {} })
    const error = await refusalOf(client.list())
    expect(error).toMatchObject({ code: 'service_unreachable', failure: 'transient' })
    expect(error.message).toContain(`${url} is not reachable (nothing listens there)`)
  })

  test('gives up on a service that does not answer', async () => {
    const url = await startServer(() => {})
    const client = createClient({ url, token: 'x', timeoutMs: 50, wait: async () => {} })
    expect(await refusalOf(client.submit({}))).toMatchObject({ code: 'service_timeout' })
  })

  test('gives up on an answer that never ends', async () => {
    const url = await startServer((_request, response) => void response.writeHead(200).write('{'))
    const client = createClient({ url, token: 'x', timeoutMs: 50 })
    expect(await refusalOf(client.submit({}))).toMatchObject({ code: 'service_timeout' })
  })

  test.each<[string, number, string]>([
    ['a login page', 200, '<html>'],
    ['JSON of another program', 200, '{"status":"ok"}'],
    ['an error of another program', 404, '{"message":"no route"}'],
  ])('does not take %s for the service', async (_title, status, body) => {
    const url = await startServer((_request, response) => void response.writeHead(status).end(body))
    const error = await refusalOf(createClient({ url, token: 'x' }).list())
    expect(error).toMatchObject({ code: 'not_the_service', failure: 'permanent' })
    expect(error.message).toContain(url)
  })

  test('tries three times while a proxy says that nobody is behind it', async () => {
    let calls = 0
    const url = await startServer((_request, response) => {
      calls += 1
      response.writeHead(502).end('bad gateway')
    })
    const waits: number[] = []
    const client = createClient({ url, token: 'x', wait: async (ms) => void waits.push(ms) })
    expect(await refusalOf(client.list())).toMatchObject({ code: 'not_the_service', failure: 'transient' })
    expect([calls, waits]).toEqual([3, [300, 600]])
  })

  test('follows no redirect, so that the token stays where it belongs', async () => {
    const seen: (string | undefined)[] = []
    const thief = await startServer((request, response) => {
      seen.push(request.headers.authorization)
      response.end('{}')
    })
    const url = await startServer((_request, response) => void response.writeHead(307, { location: thief }).end())
    await refusalOf(createClient({ url, token: 'secret', wait: async () => {} }).list())
    expect(seen).toEqual([])
  })

  test.each(['', 'workqueue', 'ftp://x', 'https://user:pass@x', 'https://x/?a=1', 'https://x/#a'])(
    'refuses %j as an address',
    (url) => {
      expect(() => createClient({ url, token: 'x' })).toThrow(expect.objectContaining({ code: 'bad_service_url' }))
    },
  )
})
