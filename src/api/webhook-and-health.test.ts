import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startTestApi, type TestApi, WEBHOOK_SECRET } from '../../test/support/api.ts'

let api: TestApi

beforeEach(async () => {
  api = await startTestApi()
})
afterEach(() => api.app.close())

describe('health', () => {
  test('says what is down, to everybody', async () => {
    const ill = await startTestApi({ ready: async () => ({ database: 'not reachable', gitlab: 'ok' }) })
    const answer = await ill.app.inject('/readyz')
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toEqual({ status: 'not_ready', dependencies: { database: 'not reachable', gitlab: 'ok' } })
    expect((await ill.app.inject('/healthz')).statusCode).toBe(200)
    await ill.app.close()
  })

  test('is ready when everything is, and not when the check itself fails', async () => {
    expect((await api.app.inject('/readyz')).json()).toEqual({ status: 'ready', dependencies: { database: 'ok' } })
    const broken = await startTestApi({ ready: () => Promise.reject(new Error('postgres://u:p@host')) })
    const answer = await broken.app.inject('/readyz')
    expect(answer.statusCode).toBe(503)
    expect(answer.body).not.toContain('host')
    await broken.app.close()
  })
})

describe('webhooks', () => {
  const deliver = (payload: string, headers: Record<string, string> = { 'x-gitlab-token': WEBHOOK_SECRET }, to = api) =>
    to.app.inject({
      method: 'POST',
      url: '/api/v1/webhooks/gitlab',
      headers: { 'content-type': 'application/json', ...headers },
      payload,
    })

  test('stores the event and answers whom it concerns', async () => {
    const id = await api.submitted()
    const answer = await deliver(
      '{"object_kind":"pipeline","object_attributes":{"finished_at":"2026-03-02 10:02:20 UTC"}}',
    )
    expect([answer.statusCode, answer.json()]).toEqual([202, { work_items: [id] }])
    expect(api.queue.events).toMatchObject([{ eventType: 'pipeline', eventAt: new Date('2026-03-02T10:02:20Z') }])
  })

  test('is refused without the secret, before the body is looked at, and audited', async () => {
    for (const headers of [{}, { 'x-gitlab-token': 'wrong' }, api.bearer('all')]) {
      expect((await deliver('{ not json', headers)).json()).toMatchObject({
        status: 401,
        code: 'webhook_unauthenticated',
      })
    }
    expect(api.queue.events).toEqual([])
    expect(api.entries).toHaveLength(3)
  })

  test('does not exist without a configured secret', async () => {
    const off = await startTestApi({ webhook: null })
    expect((await deliver('{}', {}, off)).json()).toMatchObject({ status: 404, code: 'webhook_not_configured' })
    await off.app.close()
  })

  test('takes bodies far larger than other operations', async () => {
    expect((await deliver(`{"object_kind":"push","x":"${'x'.repeat(20_000_000)}"}`)).statusCode).toBe(202)
    expect((await deliver(`{"object_kind":"push","x":"${'x'.repeat(26_500_000)}"}`)).statusCode).toBe(413)
  })

  test.each(['__proto__', 'constructor', 'never_heard_of'])(
    'takes a delivery of the kind %s for one more',
    async (kind) => {
      expect((await deliver(JSON.stringify({ object_kind: kind }))).statusCode).toBe(202)
    },
  )

  test('answers 503 while the database is away, so that GitLab shows the failure', async () => {
    api.queue.failNext(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }))
    expect((await deliver('{"object_kind":"push"}')).statusCode).toBe(503)
  })
})
