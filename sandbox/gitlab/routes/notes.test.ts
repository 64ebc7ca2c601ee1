import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../test-server.ts'

let server: TestServer
let branch: string
let last = 0

beforeAll(async () => {
  server = await startTestServer({ files: { 'README.md': '# Widgets\n', shared: 'base\n' } })
})

afterAll(() => server.remove())

beforeEach(() => {
  branch = `topic-${++last}`
})

const one = (iid: number, below = '') => `/merge_requests/${iid}${below}`
const read = async (iid: number, query = '') => (await server.call('GET', one(iid, query))).json

describe('approvals', () => {
  test('are given once and taken back', async () => {
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch)
    const actions: string[] = []
    server.context.signals.on('merge_request', ({ action }) => actions.push(action))
    const given = await server.call('POST', one(iid, '/approve'), {}, 'developer')
    expect(given.status).toBe(201)
    expect(given.json).toMatchObject({
      approved: true,
      user_has_approved: true,
      approved_by: [{ user: { username: 'developer' } }],
    })
    expect((await server.call('POST', one(iid, '/approve'), {}, 'developer')).status).toBe(401)
    expect((await server.call('POST', one(iid, '/approve'), { sha: 'f'.repeat(40) })).status).toBe(409)
    expect((await server.call('POST', one(iid, '/unapprove'), {}, 'developer')).status).toBe(201)
    expect((await server.call('POST', one(iid, '/unapprove'), {}, 'developer')).status).toBe(404)
    expect((await server.call('GET', one(iid, '/approvals'))).json).toMatchObject({ approved: false, approved_by: [] })
    expect(actions).toEqual(['approved', 'unapproved'])
  })
})

describe('notes', () => {
  const notes = (iid: number, below = '') => one(iid, `/notes${below}`)

  test('are written, edited, listed newest first, and deleted', async () => {
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch)
    const first = await server.call('POST', notes(iid), { body: 'first' })
    expect(first.status).toBe(201)
    expect(first.json).toMatchObject({ body: 'first', system: false, noteable_type: 'MergeRequest', noteable_iid: iid })
    server.clock.advance(1_000)
    const second = await server.call('POST', notes(iid), { body: 'second' }, 'developer')
    expect((await server.call('GET', notes(iid))).list.map((note) => note['body'])).toEqual(['second', 'first'])
    const below = `/${second.json['id']}`
    expect((await server.call('PUT', notes(iid, below), { body: 'mine' })).status).toBe(403)
    expect((await server.call('PUT', notes(iid, below), { body: 'edited' }, 'developer')).json).toMatchObject({
      body: 'edited',
    })
    expect((await read(iid))['user_notes_count']).toBe(2)
    expect((await server.call('DELETE', notes(iid, below), undefined, 'developer')).status).toBe(204)
    const missing = await server.call('GET', notes(iid, below))
    expect([missing.status, missing.json]).toEqual([404, { message: '404 Not found' }])
  })

  test('of quick actions only are no notes', async () => {
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch)
    const only = await server.call('POST', notes(iid), { body: '/label ~"two words"\n/draft' })
    expect(only.status).toBe(202)
    expect(only.json).toMatchObject({ summary: [expect.any(String), expect.any(String)] })
    expect(await read(iid)).toMatchObject({ labels: ['two words'], draft: true, user_notes_count: 0 })
    const both = await server.call('POST', notes(iid), { body: 'Bye\n/close' })
    expect([both.status, both.json['body']]).toEqual([201, 'Bye'])
    expect(await read(iid)).toMatchObject({ state: 'closed' })
  })

  test('need a body', async () => {
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch)
    expect((await server.call('POST', notes(iid), {})).json).toEqual({ error: 'body is missing' })
    const blank = await server.call('POST', notes(iid), { body: ' ' })
    expect(blank.status).toBe(400)
    expect(blank.text).toContain('400 Bad request - Note {')
  })
})
