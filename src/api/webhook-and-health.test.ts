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

describe('metrics', () => {
  test('are for everybody, in the format that their source says', async () => {
    const metrics = { contentType: 'text/plain; version=0.0.4; charset=utf-8', read: async () => 'up 1\n' }
    const open = await startTestApi({ metrics })
    const answer = await open.app.inject('/metrics')
    expect([answer.statusCode, answer.headers['content-type'], answer.body]).toEqual([
      200,
      metrics.contentType,
      'up 1\n',
    ])
    await open.app.close()
  })

  test('do not exist where they are switched off', async () => {
    expect((await api.app.inject('/metrics')).statusCode).toBe(404)
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

  describe('under load', () => {
    const header = { 'content-type': 'application/json', 'x-gitlab-token': WEBHOOK_SECRET }
    const limits = { requests: 2, bytes: 1_000, answerWithinMs: 60_000 }
    const send = async (url: string, body: string) =>
      (await fetch(`${url}/api/v1/webhooks/gitlab`, { method: 'POST', headers: header, body })).status

    /** Holds every event back until it is released. */
    async function startHeld(webhookLimits: typeof limits) {
      const held = await startTestApi({ webhookLimits })
      const { promise, resolve: release } = Promise.withResolvers<void>()
      const arrived: string[] = []
      held.queue.ingest = async ({ eventType }) => {
        arrived.push(eventType)
        await promise
        return []
      }
      return { ...held, url: await held.app.listen({ host: '127.0.0.1', port: 0 }), arrived, release }
    }

    test('refuses at once what there is no room for, and takes more when there is again', async () => {
      const held = await startHeld(limits)
      const first = [send(held.url, '{"object_kind":"push"}'), send(held.url, '{"object_kind":"push"}')]
      await expect.poll(() => held.arrived.length).toBe(2)
      expect(await send(held.url, '{"object_kind":"push"}')).toBe(503)
      held.release()
      expect(await Promise.all(first)).toEqual([202, 202])
      await expect.poll(() => send(held.url, '{"object_kind":"push"}')).toBe(202)
      expect(held.counts.read().shed).toBeGreaterThanOrEqual(1)
      await held.app.close()
    })

    test('counts bytes as well, but never shuts a lone delivery out', async () => {
      const held = await startHeld(limits)
      const large = send(held.url, JSON.stringify({ object_kind: 'push', x: 'x'.repeat(2_000) }))
      await expect.poll(() => held.arrived.length).toBe(1)
      expect(await send(held.url, '{"object_kind":"push"}')).toBe(503)
      held.release()
      expect(await large).toBe(202)
      await held.app.close()
    })

    test('answers before GitLab gives up, and keeps the place of what is still being stored', async () => {
      const held = await startHeld({ ...limits, requests: 1, answerWithinMs: 30 })
      expect(await send(held.url, '{"object_kind":"push"}')).toBe(503)
      expect(await send(held.url, '{"object_kind":"push"}')).toBe(503)
      expect(held.arrived).toHaveLength(1)
      held.release()
      await expect.poll(() => send(held.url, '{"object_kind":"push"}')).toBe(202)
      await held.app.close()
    })
  })

  test('answers 503 while the database is away, so that GitLab shows the failure', async () => {
    api.queue.failNext(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }))
    expect((await deliver('{"object_kind":"push"}')).statusCode).toBe(503)
  })
})
