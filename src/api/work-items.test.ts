import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aNote, startTestApi, type TestApi } from '../../test/support/api.ts'
import { aBlocker } from '../../test/support/fake-queue.ts'
import { problemSchema } from '../contract/problem.ts'
import { listAnswerSchema, submitAnswerSchema, workItemSchema } from '../contract/work-item.ts'

let api: TestApi

beforeEach(async () => {
  api = await startTestApi()
})
afterEach(() => api.app.close())

describe('submitting', () => {
  test('creates, then knows, then updates the same item', async () => {
    const created = await api.post('/work-items', aNote)
    expect(created.statusCode).toBe(201)
    const { outcome, work_item } = submitAnswerSchema.parse(created.json())
    expect(outcome).toBe('created')
    expect(created.headers['location']).toBe(`/api/v1/work-items/${work_item.id}`)
    const same = await api.post('/work-items', aNote)
    expect([same.statusCode, same.json().outcome]).toEqual([200, 'unchanged'])
    const changed = await api.post('/work-items', { ...aNote, text: 'bye' })
    expect(changed.json()).toMatchObject({ outcome: 'updated', work_item: { id: work_item.id, revision: 2 } })
    expect(api.queue.calls.map(({ caller }) => caller)).toEqual(['token:all', 'token:all', 'token:all'])
  })

  test('reports every fault of the body at once', async () => {
    const answer = await api.post('/work-items', { item_type: 'note', nam: 'x', tags: [{}] })
    expect(answer.statusCode).toBe(422)
    expect(answer.headers['content-type']).toBe('application/problem+json')
    const problem = problemSchema.parse(answer.json())
    expect(problem.code).toBe('submission_rejected')
    expect(problem.findings.map(({ code, path }) => `${code} ${path}`)).toEqual([
      'required /name',
      'required /text',
      'required /tags/0/label',
      'unknown_field /nam',
    ])
  })

  test('passes on what the inspection of the type refuses', async () => {
    const answer = await api.post('/work-items', { ...aNote, text: 'forbidden' })
    expect(answer.json()).toMatchObject({
      status: 422,
      findings: [{ code: 'text_forbidden', path: '/text', message: 'The text is forbidden; write another.' }],
    })
  })
})

describe('looking', () => {
  test('shows one item with its blockers and dimensions', async () => {
    const id = await api.submitted()
    api.queue.present(id, { blockers: [aBlocker], links: [{ name: 'merge request', url: 'https://x.example/1' }] })
    const view = workItemSchema.parse((await api.get(`/work-items/${id}`)).json())
    expect(view).toMatchObject({
      id,
      phase: 'active',
      blockers: [{ code: 'waiting_for_pipeline', since: '2026-03-02T10:00:00.000Z', cleared_by: 'CI' }],
      dimensions: [{ name: 'needs_look', status: 'true', pending_until: null }],
    })
  })

  test('lists newest first, page by page', async () => {
    const ids = []
    for (const name of ['a', 'b', 'c']) ids.push(await api.submitted({ ...aNote, name }))
    const first = listAnswerSchema.parse((await api.get('/work-items?limit=2')).json())
    expect(first.items.map(({ id }) => id)).toEqual([ids[2], ids[1]])
    const second = listAnswerSchema.parse((await api.get(`/work-items?limit=2&before=${first.next}`)).json())
    expect(second).toMatchObject({ items: [{ id: ids[0] }], next: null })
  })

  test('filters by type, phase, caller and text', async () => {
    const id = await api.submitted({ ...aNote, name: 'one' })
    api.queue.change(id, { phase: 'failed' })
    await api.submitted({ ...aNote, name: 'two' })
    const found = async (query: string) =>
      listAnswerSchema.parse((await api.get(`/work-items?${query}`)).json()).items.length
    expect(await found('phase=failed')).toBe(1)
    expect(await found('search=TWO')).toBe(1)
    expect(await found('caller=token:all')).toBe(2)
    expect(await found('item_type=memo')).toBe(0)
  })
})

describe('retrying and cancelling', () => {
  test('retries a failed item in the name of the caller', async () => {
    const id = await api.submitted()
    api.queue.change(id, { phase: 'failed' })
    expect((await api.post(`/work-items/${id}/retry`)).json()).toMatchObject({ id, phase: 'active' })
    expect(api.queue.calls.at(-1)).toEqual({ what: 'retry', caller: 'token:all' })
  })

  test('refuses to retry what is completed, and to cancel what is over', async () => {
    const id = await api.submitted()
    api.queue.change(id, { phase: 'completed' })
    expect((await api.post(`/work-items/${id}/retry`)).json()).toMatchObject({ status: 409, code: 'not_retryable' })
    expect((await api.post(`/work-items/${id}/cancel`)).json()).toMatchObject({ status: 409, code: 'not_cancellable' })
  })

  test('answers 202 to a cancel, which happens later', async () => {
    const id = await api.submitted()
    expect((await api.post(`/work-items/${id}/cancel`, {})).statusCode).toBe(202)
  })

  test('refuses a body that it would have to ignore', async () => {
    const id = await api.submitted()
    const answer = await api.post(`/work-items/${id}/retry`, { force: true })
    expect(answer.json()).toMatchObject({ status: 400, findings: [{ message: expect.stringContaining('no body') }] })
  })
})
