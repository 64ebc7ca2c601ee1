import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../test-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})

afterAll(() => server.remove())

const branches = '/repository/branches'
const encoded = (name: string) => `${branches}/${encodeURIComponent(name)}`

describe('a branch', () => {
  test('is created, read, probed and deleted', async () => {
    const created = await server.call('POST', branches, { branch: 'feature/a', ref: 'main' })
    expect(created.status).toBe(201)
    const read = await server.call('GET', encoded('feature/a'))
    expect(read.json).toMatchObject({
      name: 'feature/a',
      merged: true,
      protected: false,
      default: false,
      can_push: true,
    })
    expect(read.json).toEqual(created.json)
    const there = await server.call('HEAD', encoded('feature/a'))
    expect([there.status, there.text]).toEqual([204, ''])
    const deleted = await server.call('DELETE', encoded('feature/a'))
    expect([deleted.status, deleted.text]).toEqual([204, ''])
    expect((await server.call('HEAD', encoded('feature/a'))).status).toBe(404)
    const again = await server.call('DELETE', encoded('feature/a'))
    expect([again.status, again.json]).toEqual([404, { message: '404 Branch Not Found' }])
  })

  test.each([
    ['main', 'main', 'Branch already exists'],
    ['new', 'nowhere', 'Invalid reference name: nowhere'],
    ['bad..name', 'main', 'Branch name is invalid'],
  ])('%s from %s is refused', async (branch, ref, message) => {
    const answer = await server.call('POST', branches, { branch, ref }, 'maintainer')
    expect([answer.status, answer.json]).toEqual([400, { message }])
  })

  test('needs both parameters', async () => {
    const answer = await server.call('POST', branches, {})
    expect([answer.status, answer.json]).toEqual([400, { error: 'branch is missing, ref is missing' }])
  })

  test('that is the default or protected stays', async () => {
    const byDefault = await server.call('DELETE', encoded('main'))
    expect([byDefault.status, byDefault.json]).toEqual([
      400,
      { message: 'The default branch of a project cannot be deleted.' },
    ])
    await server.commit('keep/1', { x: 'x' })
    await server.call('POST', '/protected_branches', { name: 'keep/*' })
    const refused = await server.call('DELETE', encoded('keep/1'), undefined, 'developer')
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('protected')
    expect((await server.call('DELETE', encoded('keep/1'))).status).toBe(204)
  })

  test('of somebody who may only read cannot be made', async () => {
    const answer = await server.call('POST', branches, { branch: 'r', ref: 'main' }, 'reporter')
    expect([answer.status, answer.json]).toEqual([403, { message: '403 Forbidden' }])
  })
})

test('lists are searched and come in pages with all headers', async () => {
  for (const name of ['p/1', 'p/2', 'p/3']) await server.call('POST', branches, { branch: name, ref: 'main' })
  const { headers, list } = await server.call('GET', `${branches}?search=p/&per_page=2`)
  expect(list.map((branch) => branch['name'])).toEqual(['p/1', 'p/2'])
  expect(Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-')))).toEqual({
    'x-page': '1',
    'x-per-page': '2',
    'x-next-page': '2',
    'x-prev-page': '',
    'x-total': '3',
    'x-total-pages': '2',
  })
  expect(headers.get('link')).toMatch(/page=2[^>]*>; rel="next".*rel="first".*page=2[^>]*>; rel="last"/)
  const second = await server.call('GET', `${branches}?search=p/&per_page=2&page=2`)
  expect(second.list).toHaveLength(1)
  expect(second.headers.get('x-next-page')).toBe('')
})

describe('protection', () => {
  test('is set, read and taken away', async () => {
    const made = await server.call('POST', '/protected_branches', { name: 'release', push_access_level: 30 })
    expect(made.status).toBe(201)
    expect(made.json).toMatchObject({ name: 'release', push_access_levels: [{ access_level: 30 }] })
    expect((await server.call('POST', '/protected_branches', { name: 'release' })).status).toBe(409)
    expect((await server.call('GET', '/protected_branches/release')).json).toMatchObject({ name: 'release' })
    expect((await server.call('DELETE', '/protected_branches/release')).status).toBe(204)
    expect((await server.call('GET', '/protected_branches/release')).status).toBe(404)
  })

  test('by wildcard keeps developers from pushing', async () => {
    await server.call('POST', '/protected_branches', { name: 'prod-*' })
    const body = {
      branch: 'prod-eu',
      start_branch: 'main',
      commit_message: 'x',
      actions: [{ action: 'create', file_path: 'x', content: '' }],
    }
    expect((await server.call('POST', '/repository/commits', body, 'developer')).status).toBe(403)
    expect((await server.call('POST', '/repository/commits', body, 'maintainer')).status).toBe(201)
  })

  test('keeps even maintainers from dropping commits of a protected branch', async () => {
    await server.call('POST', '/protected_branches', { name: 'solid' })
    const first = await server.commit('solid', { a: 'a' })
    const answer = await server.call('POST', '/repository/commits', {
      branch: 'solid',
      start_branch: 'main',
      force: true,
      commit_message: 'x',
      actions: [{ action: 'create', file_path: 'b', content: '' }],
    })
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('force push')
    expect((await server.call('GET', encoded('solid'))).json).toMatchObject({ commit: { id: first } })
  })
})
