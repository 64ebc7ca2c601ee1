import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runSandbox } from './main.ts'
import { startTestServer, type TestServer } from './test-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})

afterAll(() => server.remove())

describe('tokens', () => {
  const to = (headers: Record<string, string>) => server.raw('/api/v4/user', { headers })

  test('are taken in either header', async () => {
    expect((await to({ 'private-token': 'token-of-developer' })).json).toMatchObject({ username: 'developer' })
    expect((await to({ authorization: 'Bearer token-of-developer' })).json).toMatchObject({ username: 'developer' })
  })

  test.each([[{}], [{ 'private-token': 'wrong' }], [{ authorization: 'Basic x' }]])('%j is 401', async (headers) => {
    const answer = await to(headers as Record<string, string>)
    expect([answer.status, answer.json]).toEqual([401, { message: '401 Unauthorized' }])
  })

  test('never reach the disk', async () => {
    await server.context.flush()
    expect(await readFile(join(server.context.dataDir, 'state.json'), 'utf8')).not.toContain('token-of-')
  })
})

describe('a project', () => {
  test('is found by number and by path in any case', async () => {
    const byPath = await server.call('GET', '//projects/group%2FSUB%2Fwidgets')
    const byId = await server.call('GET', `//projects/${server.project.id}`)
    expect(byPath.status).toBe(200)
    expect(byPath.json).toEqual(byId.json)
    expect(byId.json).toMatchObject({
      path_with_namespace: 'Group/sub/Widgets',
      default_branch: 'main',
      permissions: { project_access: { access_level: 40 } },
    })
  })

  test('does not exist for those who are no members', async () => {
    for (const who of ['stranger', 'maintainer'] as const) {
      const path = who === 'stranger' ? '' : 'x'
      const answer = await server.call('GET', path === '' ? path : '//projects/no%2Fsuch', undefined, who)
      expect([answer.status, answer.json]).toEqual([404, { message: '404 Project Not Found' }])
    }
    expect((await server.call('GET', '//projects', undefined, 'stranger')).list).toEqual([])
  })

  test('is made empty, and takes its first commit', async () => {
    const made = await server.call('POST', '//projects', { name: 'Fresh', path: 'fresh' })
    expect(made.status).toBe(201)
    expect(made.json).toMatchObject({ path_with_namespace: 'maintainer/fresh', default_branch: null, empty_repo: true })
    const commit = await server.call('POST', `//projects/${made.json['id']}/repository/commits`, {
      branch: 'main',
      commit_message: 'First',
      actions: [{ action: 'create', file_path: 'a', content: 'a' }],
    })
    expect([commit.status, commit.json['parent_ids']]).toEqual([201, []])
    expect((await server.call('GET', `//projects/${made.json['id']}`)).json).toMatchObject({ default_branch: 'main' })
  })

  test('has settings and members that change', async () => {
    const changed = await server.call('PUT', '', { merge_method: 'ff', only_allow_merge_if_pipeline_succeeds: true })
    expect(changed.json).toMatchObject({ merge_method: 'ff', only_allow_merge_if_pipeline_succeeds: true })
    await server.call('PUT', '', { merge_method: 'merge', only_allow_merge_if_pipeline_succeeds: false })
    expect((await server.call('PUT', '', { merge_method: 'octopus' })).json).toEqual({
      error: 'merge_method does not have a valid value',
    })
    const user_id = server.users.stranger.id
    expect((await server.call('POST', '/members', { user_id, access_level: 20 })).status).toBe(201)
    expect((await server.call('GET', '', undefined, 'stranger')).status).toBe(200)
    expect((await server.call('DELETE', `/members/${user_id}`)).status).toBe(204)
    expect((await server.call('GET', '', undefined, 'stranger')).status).toBe(404)
  })
})

describe('what nobody serves', () => {
  test('an unknown route', async () => {
    const answer = await server.call('GET', '//nothing/here')
    expect([answer.status, answer.json]).toEqual([404, { error: '404 Not Found' }])
  })

  test('a body that is not JSON', async () => {
    const answer = await server.raw(`/api/v4/projects/${server.project.id}/repository/branches`, {
      method: 'POST',
      headers: { 'private-token': 'token-of-maintainer', 'content-type': 'application/json' },
      body: '{',
    })
    expect(answer.status).toBe(400)
    expect(Object.keys(answer.json)).toEqual(['error'])
  })
})

test('users are looked up', async () => {
  const { list } = await server.call('GET', '//users?username=DEVELOPER')
  expect(list).toEqual([expect.objectContaining({ username: 'developer', state: 'active' })])
  expect((await server.call('GET', `//users/${list[0]?.['id']}`)).json).toMatchObject({ username: 'developer' })
  const missing = await server.call('GET', '//users/999999')
  expect([missing.status, missing.json]).toEqual([404, { message: '404 User Not Found' }])
  expect((await server.call('GET', '//version')).json).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+/) })
})

describe('a restart', () => {
  test('finds branches, merge requests, notes and labels as they were', async () => {
    await server.commit('kept', { 'kept.txt': 'kept\n' })
    const iid = await server.open('kept', { labels: 'a,b', description: 'Words' })
    await server.call('POST', `/merge_requests/${iid}/notes`, { body: 'A note' })
    const before = await server.call('GET', `/merge_requests?iids[]=${iid}`)
    server = await server.restart()
    await server.pass(0)
    const after = await server.call('GET', `/merge_requests?iids[]=${iid}`)
    const withoutAddress = (text: string) => text.replaceAll(/127\.0\.0\.1:\d+/g, 'host')
    expect(withoutAddress(after.text)).toBe(withoutAddress(before.text))
    expect((await server.call('GET', `/merge_requests/${iid}/notes`)).list).toMatchObject([{ body: 'A note' }])
    expect((await server.call('GET', '/repository/files/kept.txt/raw?ref=kept')).text).toBe('kept\n')
  })

  test('settles what waited for a timer', async () => {
    await server.commit('waiting', { 'w.txt': 'w\n' })
    const body = { source_branch: 'waiting', target_branch: 'main', title: 'Waiting' }
    const { json } = await server.call('POST', '/merge_requests', body)
    const iid = Number(json['iid'])
    // The request is not prepared yet, and a push to its branch has not reached it.
    const sha = await server.commit('waiting', { 'w.txt': 'w2\n' })
    server = await server.restart()
    await server.pass(0)
    const first = await server.call('GET', `/merge_requests/${iid}`)
    expect(first.json).toMatchObject({ sha, detailed_merge_status: 'checking', changes_count: '1' })
    await server.pass(1_000)
    expect((await server.call('GET', `/merge_requests/${iid}`)).json).toMatchObject({
      detailed_merge_status: 'mergeable',
    })
  })
})

test('a restart removes the merged branch that was about to go', async () => {
  await server.commit('finished', { 'f.txt': 'f\n' })
  const iid = await server.open('finished', { remove_source_branch: true })
  await server.call('PUT', `/merge_requests/${iid}/merge`)
  server = await server.restart()
  await server.pass(1_000)
  expect((await server.call('HEAD', '/repository/branches/finished')).status).toBe(404)
})

test('the demo is made once, its tokens stay and are private', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'sandbox-run-'))
  try {
    const first = await runSandbox({ dataDir })
    await first.close()
    const second = await runSandbox({ dataDir })
    expect(second.tokens).toEqual(first.tokens)
    expect((await stat(join(dataDir, 'tokens.json'))).mode & 0o777).toBe(0o600)
    const response = await fetch(`${second.url}/api/v4/projects/${encodeURIComponent(second.project)}`, {
      headers: { authorization: `Bearer ${second.tokens.bot}` },
    })
    expect(await response.json()).toMatchObject({ permissions: { project_access: { access_level: 40 } } })
    const taken = runSandbox({ dataDir: join(dataDir, 'other'), port: Number(new URL(second.url).port) })
    await expect(taken).rejects.toThrow(/EADDRINUSE/)
    await second.close()
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})
