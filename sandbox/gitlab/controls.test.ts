import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, startTestServer, type TestServer, type Who } from './test-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.remove())

function control(method: string, path: string, body?: object, who: Who | null = 'root'): Promise<Answer> {
  return server.raw(`/sandbox${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(who === null ? {} : { 'private-token': `token-of-${who}` }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

const RULE = { method: 'GET', path: '/api/v4/version', kind: 'status', status: 500, seed: 5 }

describe('faults', () => {
  test('are set, counted and taken back while the sandbox runs', async () => {
    const added = await control('POST', '/faults', RULE)
    expect(added.status).toBe(201)
    expect(added.json).toMatchObject({ ...RULE, probability: 1, matched: 0, fired: 0 })
    expect((await server.call('GET', '//version')).status).toBe(500)
    expect((await control('GET', '/faults')).list).toEqual([{ ...added.json, matched: 1, fired: 1 }])
    expect((await control('DELETE', `/faults/${added.json['id']}`)).status).toBe(204)
    expect((await control('DELETE', `/faults/${added.json['id']}`)).status).toBe(404)
    expect((await server.call('GET', '//version')).status).toBe(200)
  })

  test('that hit everything leave the controls alone', async () => {
    await control('POST', '/faults', { path: '/**', kind: 'drop_before' })
    await expect(server.call('GET', '//version')).rejects.toThrow()
    expect((await control('DELETE', '/faults')).status).toBe(204)
    expect((await control('GET', '/faults')).list).toEqual([])
    expect((await server.call('GET', '//version')).status).toBe(200)
  })

  test('that make no sense are refused, all fields at once', async () => {
    const { status, json } = await control('POST', '/faults', { ...RULE, probability: 2, times: 'often', tmies: 1 })
    expect(status).toBe(400)
    const message = json['message'] as Record<string, unknown>
    expect(Object.keys(message).toSorted()).toEqual(['probability', 'times', 'tmies'])
    expect((await control('POST', '/faults')).status).toBe(400)
    expect((await control('GET', '/faults')).list).toEqual([])
  })
})

test.each([
  ['GET', '/faults'],
  ['POST', '/faults'],
  ['DELETE', '/faults'],
  ['DELETE', '/faults/1'],
  ['GET', '/writes'],
])('%s %s is for administrators', async (method, path) => {
  expect((await control(method, path, undefined, 'maintainer')).status).toBe(403)
  expect((await control(method, path, undefined, null)).status).toBe(401)
})

test('writes are listed once each, with time and author, and found by what they concern', async () => {
  await server.commit('listed', { 'l.txt': 'l\n' })
  const iid = await server.open('listed', { remove_source_branch: true })
  const { json: note } = await server.call('POST', `/merge_requests/${iid}/notes`, { body: 'One' }, 'developer')
  await server.call('PUT', `/merge_requests/${iid}/notes/${note['id']}`, { body: 'Two' }, 'developer')
  await server.call('PUT', `/merge_requests/${iid}`, { title: 'Better' })
  await server.call('PUT', `/merge_requests/${iid}`, { title: 'Better' })
  await server.call('PUT', `/merge_requests/${iid}/merge`)
  await server.pass(1_000)
  const { list } = await control('GET', '/writes?branch=listed')
  expect(list.map((write) => write['kind'])).toEqual([
    'push',
    'open',
    'note',
    'edit_note',
    'update',
    'merge',
    'delete_branch',
  ])
  const project = server.project.pathWithNamespace
  expect(list[2]).toEqual({
    at: expect.stringMatching(/^2026-03-02T10:00:0\d\.\d{3}Z$/),
    kind: 'note',
    project,
    branch: 'listed',
    merge_request_iid: iid,
    sha: null,
    user: 'developer',
  })
  const query = new URLSearchParams({ project, merge_request_iid: String(iid), kind: 'merge', user: 'maintainer' })
  expect((await control('GET', `/writes?${query}`)).list).toHaveLength(1)
  expect(server.writes({ kind: 'push', branch: 'main' })).toHaveLength(1)
})

test('a write that is refused is not listed', async () => {
  const before = server.writes().length
  await server.call('DELETE', '/repository/branches/nowhere')
  await server.call('POST', '/merge_requests', { source_branch: 'nowhere', target_branch: 'main', title: 'x' })
  expect(server.writes()).toHaveLength(before)
})

test('after a push a merge request shows its old head for as long as is set', async () => {
  const old = await server.commit('stale', { 'stale.txt': '1\n' })
  const iid = await server.open('stale')
  expect((await control('PUT', '/refresh-delay', { ms: 60_000 })).json).toEqual({ ms: 60_000 })
  expect((await control('PUT', '/refresh-delay', { ms: 1 }, 'maintainer')).status).toBe(403)
  const head = await server.commit('stale', { 'stale.txt': '2\n' })
  const sha = async () => (await server.call('GET', `/merge_requests/${iid}`)).json['sha']
  await server.pass(59_000)
  expect(await sha()).toBe(old)
  expect((await server.call('GET', '/repository/branches/stale')).json).toMatchObject({ commit: { id: head } })
  const merge = (wanted: string) => server.call('PUT', `/merge_requests/${iid}/merge`, { sha: wanted })
  expect((await merge(head)).json).toEqual({ message: `SHA does not match HEAD of source branch: ${old}` })
  await server.pass(2_000)
  expect(await sha()).toBe(head)
  await control('PUT', '/refresh-delay', { ms: 50 })
  expect((await control('GET', '/refresh-delay')).json).toEqual({ ms: 50 })
})
