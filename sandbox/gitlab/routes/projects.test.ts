import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../test-server.ts'

let server: TestServer

beforeEach(async () => {
  server = await startTestServer()
})

afterEach(() => server.remove())

const by = (path: string | number, below = '') => `//projects/${encodeURIComponent(path)}${below}`

describe('a renamed project', () => {
  test('is found at its new path and by its number; its old path leads readers there and refuses writers', async () => {
    const { id, pathWithNamespace: old } = server.project
    await server.call('PUT', '', { path: 'Gadgets' })
    expect((await server.call('GET', by('Group/sub/Gadgets'))).json).toMatchObject({ id })
    expect((await server.call('GET', by(id))).json).toMatchObject({ path_with_namespace: 'Group/sub/Gadgets' })
    const sent = await server.call('GET', by(old, '/repository/branches/main?x=1'))
    expect(sent.status).toBe(301)
    expect(sent.headers.get('location')).toBe(`${server.url}/api/v4/projects/${id}/repository/branches/main?x=1`)
    const refused = await server.call('POST', by(old, '/repository/branches'), { branch: 'x', ref: 'main' })
    expect([refused.status, refused.json]).toEqual([
      405,
      { message: 'Non GET methods are not allowed for moved projects' },
    ])
    expect((await server.call('GET', by(old), undefined, 'stranger')).status).toBe(404)
  })

  test('loses its old path to a project that takes it', async () => {
    const { pathWithNamespace: old } = server.project
    await server.call('PUT', '', { path: 'Gadgets' })
    await server.call('POST', '//projects', { path: 'Widgets', namespace_id: 'Group/sub' })
    expect((await server.call('GET', by(old))).json).toMatchObject({ path_with_namespace: old })
  })
})

test('a project that moved to another namespace is found by its old path', async () => {
  const { id, pathWithNamespace: old } = server.project
  await server.call('PUT', '/transfer', { namespace: 'elsewhere' }, 'root')
  expect((await server.call('GET', by('elsewhere/Widgets'))).json).toMatchObject({ id })
  expect((await server.call('GET', by(old))).status).toBe(301)
})

test('an archived project is read only', async () => {
  await server.commit('topic', { a: 'a\n' })
  const iid = await server.open('topic')
  await server.call('POST', '/archive', undefined, 'root')
  const actions = [{ action: 'create', file_path: 'b', content: 'b' }]
  const outcomes = await Promise.all([
    server.call('POST', '/repository/commits', { branch: 'topic', commit_message: 'b', actions }),
    server.call('POST', '/repository/branches', { branch: 'new', ref: 'main' }),
    server.call('DELETE', '/repository/branches/topic'),
    server.call('POST', '/merge_requests', { source_branch: 'topic', target_branch: 'main', title: 'x' }),
    server.call('PUT', `/merge_requests/${iid}`, { title: 'x' }),
    server.call('POST', `/merge_requests/${iid}/notes`, { body: 'x' }),
    server.call('POST', '/pipeline', { ref: 'main' }),
    server.call('PUT', `/merge_requests/${iid}/merge`),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403, 403, 401])
  expect((await server.call('GET', `/merge_requests/${iid}`)).json).toMatchObject({ user: { can_merge: false } })
  await server.call('POST', '/unarchive', undefined, 'root')
  expect((await server.call('POST', `/merge_requests/${iid}/notes`, { body: 'x' })).status).toBe(201)
})

test('rights that are taken away are gone with the next call', async () => {
  await server.commit('topic', { a: 'a\n' })
  const iid = await server.open('topic')
  const { id } = server.users.developer
  const note = () => server.call('POST', `/merge_requests/${iid}/notes`, { body: 'x' }, 'developer')
  const retitle = () => server.call('PUT', `/merge_requests/${iid}`, { title: 'Topic' }, 'developer')
  expect([(await note()).status, (await retitle()).status]).toEqual([201, 200])
  await server.call('PUT', `/members/${id}`, { access_level: 20 })
  expect([(await note()).status, (await retitle()).status]).toEqual([201, 403])
  await server.call('DELETE', `/members/${id}`)
  expect([(await note()).status, (await retitle()).status]).toEqual([404, 404])
})

test('a removed project does not exist any more', async () => {
  expect((await server.call('DELETE', '', undefined, 'developer')).status).toBe(403)
  expect((await server.call('DELETE', '', undefined, 'root')).status).toBe(202)
  expect((await server.call('GET', '')).status).toBe(404)
})

test('branches that a wildcard protects are for maintainers, whenever they are made', async () => {
  await server.call('POST', '/protected_branches', { name: 'release/*', merge_access_level: 30 })
  const make = (branch: string, who: 'developer' | 'maintainer') =>
    server.call('POST', '/repository/branches', { branch, ref: 'main' }, who)
  expect((await make('release/1', 'developer')).status).toBe(403)
  expect((await make('release/1', 'maintainer')).json).toMatchObject({ protected: true, developers_can_merge: true })
  expect((await make('releases/1', 'developer')).json).toMatchObject({ protected: false })
  await server.commit('topic', { a: 'a\n' })
  const iid = await server.open('topic', { target_branch: 'release/1' })
  expect((await server.call('PUT', `/merge_requests/${iid}/merge`, {}, 'developer')).status).toBe(200)
})

describe('groups', () => {
  test('hand their members down, to groups and projects below', async () => {
    const { stranger, maintainer } = server.users
    const group = (await server.call('POST', '//groups', { name: 'Group', path: 'Group' })).json
    const sub = await server.call('POST', '//groups', { name: 'Sub', path: 'sub', parent_id: group['id'] })
    expect(sub.json).toMatchObject({ full_path: 'Group/sub', parent_id: group['id'] })
    const path = `//groups/${encodeURIComponent('Group/sub')}`
    expect((await server.call('GET', path, undefined, 'stranger')).json).toEqual({ message: '404 Group Not Found' })
    expect((await server.call('GET', '', undefined, 'stranger')).status).toBe(404)
    await server.call('POST', `//groups/${group['id']}/members`, { user_id: stranger.id, access_level: 30 })
    expect((await server.call('GET', `${path}/members/${stranger.id}`)).status).toBe(404)
    expect((await server.call('GET', `${path}/members/all/${stranger.id}`)).json).toMatchObject({
      id: stranger.id,
      state: 'active',
      access_level: 30,
    })
    const all = (await server.call('GET', `${path}/members/all`)).list
    expect(new Set(all.map((member) => member['id']))).toEqual(new Set([maintainer.id, stranger.id]))
    expect((await server.call('GET', '', undefined, 'stranger')).status).toBe(200)
    expect((await server.call('DELETE', `//groups/${group['id']}`)).status).toBe(202)
    expect([(await server.call('GET', path)).status, (await server.call('GET', '')).status]).toEqual([404, 404])
  })
})
