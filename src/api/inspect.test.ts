import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aNote, startTestApi, type TestApi } from '../../test/support/api.ts'
import { FakeQueue } from '../../test/support/fake-queue.ts'
import type { Grant } from '../auth/identity.ts'
import { createLimit } from '../auth/limit.ts'
import { inspectionSchema } from '../contract/inspection.ts'
import { problemSchema } from '../contract/problem.ts'
import type { Inspection, InspectOptions } from '../queue/work-queue.ts'
import type { ApiDependencies } from './server.ts'

let api: TestApi

beforeEach(async () => {
  api = await startTestApi()
})
afterEach(() => api.app.close())

/** An API whose item type looks at something outside. */
async function startWith(
  inspect: (options: InspectOptions) => Promise<Inspection>,
  changes: Partial<ApiDependencies> = {},
): Promise<TestApi> {
  await api.app.close()
  const queue = Object.assign(new FakeQueue(), {
    inspect: (_type: string, _body: unknown, _caller: string, options: InspectOptions) => inspect(options),
  })
  api = await startTestApi({ queue, ...changes })
  return api
}

/** What the queue is told about showing contents of this project. */
function watchContents(project = 'g/a') {
  const withContents: (boolean | undefined)[] = []
  const start = (changes?: Partial<ApiDependencies>) =>
    startWith(async ({ mayReadContents }) => {
      withContents.push(mayReadContents?.({ project, branch: 'bot/x', paths: ['a'] }))
      return accepted
    }, changes)
  return { withContents, start }
}

const accepted: Inspection = { outcome: 'created', findings: [], policy: {}, changes: [] }

describe('a dry run', () => {
  test('says what a submission would do, and does nothing', async () => {
    const answer = await api.post('/inspect', aNote)
    expect(answer.statusCode).toBe(200)
    expect(inspectionSchema.parse(answer.json())).toEqual(accepted)
    expect(api.queue.calls).toEqual([])
    await api.submitted()
    expect((await api.post('/inspect', { ...aNote, text: 'bye' })).json()).toMatchObject({ outcome: 'updated' })
  })

  test('answers with what is wrong, whether the schema or the rules find it', async () => {
    const [shape, rule] = [
      { item_type: 'note', nam: 'x' },
      { ...aNote, text: 'forbidden' },
    ]
    for (const [body, paths] of [
      [shape, ['/name', '/text', '/nam']],
      [rule, ['/text']],
    ] as const) {
      const answer = await api.post('/inspect', body)
      expect(answer.statusCode).toBe(200)
      const { outcome, findings } = inspectionSchema.parse(answer.json())
      expect([outcome, findings.map(({ path }) => path)]).toEqual([null, paths])
    }
  })

  test('shows changes and rules as the item type tells them, and nothing that the contract does not name', async () => {
    const { post } = await startWith(async () => ({
      ...accepted,
      policy: { auto_merge: true },
      changes: [{ path: 'a.md', change: 'update', bytes: 3, mode: '100644', diff: '-a\n+b\n', secret: 'x' }],
    }))
    expect((await post('/inspect', aNote)).json()).toEqual({
      ...accepted,
      policy: { auto_merge: true },
      changes: [{ path: 'a.md', change: 'update', bytes: 3, mode: '100644', diff: '-a\n+b\n' }],
    })
  })

  test.each([
    ['names `read`', 'all', true],
    ['lets its caller submit and see items, but not what GitLab holds', 'notes', false],
  ] as const)('shows contents to a rule that %s: %s', async (_title, caller, expected) => {
    const { withContents, start } = watchContents()
    const { post } = await start()
    expect((await post('/inspect', aNote, caller)).statusCode).toBe(200)
    expect(withContents).toEqual([expected])
  })

  test.each([
    ['reads its project', { projects: createLimit(['g/*'], { nocase: true }) }, true],
    ['reads another project', { projects: createLimit(['h/*'], { nocase: true }) }, false],
    [
      'reads some branches, of which the target is none',
      { branches: createLimit(['bot/*'], { nocase: false }) },
      false,
    ],
  ])('shows contents to a rule that %s: %s', async (_title, limits, expected) => {
    const grants: Grant[] = [
      { rule: 'writer', permissions: ['submit'], itemTypes: '*' },
      { rule: 'reader', permissions: ['read'], itemTypes: '*', ...limits },
    ]
    const credential = { kind: 'token', issuer: null, expiresAt: null } as const
    const authenticator = { authenticate: async () => ({ identity: { name: 'ci', grants, credential } }) }
    const { withContents, start } = watchContents()
    const { post } = await start({ authenticator })
    expect([(await post('/inspect', aNote)).statusCode, withContents]).toEqual([200, [expected]])
  })

  test('is for those who may submit', async () => {
    expect((await api.post('/inspect', aNote, 'reader')).statusCode).toBe(403)
    const memo = await api.post('/inspect', { ...aNote, item_type: 'memo' }, 'notes')
    expect(problemSchema.parse(memo.json()).code).toBe('permission_denied')
    expect((await api.post('/inspect', { item_type: 'nope' })).json()).toMatchObject({ code: 'item_type_not_handled' })
    expect((await api.post('/inspect', '{')).json()).toMatchObject({ code: 'malformed_json' })
  })

  test('runs eight times at once in a process, and no more', async () => {
    const gate = Promise.withResolvers<Inspection>()
    let running = 0
    const { post } = await startWith(() => {
      running += 1
      return gate.promise
    })
    const first = Array.from({ length: 8 }, () => post('/inspect', aNote))
    while (running < 8) await turn()
    const ninth = await post('/inspect', aNote)
    expect([ninth.statusCode, ninth.json().code, ninth.headers['retry-after']]).toEqual([503, 'busy', '1'])
    gate.resolve(accepted)
    for (const answer of await Promise.all(first)) expect(answer.statusCode).toBe(200)
    expect((await post('/inspect', aNote)).statusCode).toBe(200)
  })

  test('is given up when its caller hangs up', async () => {
    const aborted = Promise.withResolvers<unknown>()
    const started = Promise.withResolvers<void>()
    const { app, bearer } = await startWith(async ({ signal }) => {
      signal.addEventListener('abort', () => aborted.resolve(signal.reason))
      started.resolve()
      await aborted.promise
      return accepted
    })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const caller = new AbortController()
    const headers = { ...bearer('all'), 'content-type': 'application/json' }
    const request = fetch(`${url}/api/v1/inspect`, {
      method: 'POST',
      headers,
      body: JSON.stringify(aNote),
      signal: caller.signal,
    })
    await started.promise
    caller.abort()
    await expect(request).rejects.toThrow()
    expect(await aborted.promise).toMatchObject({ name: 'AbortError' })
  })
})
