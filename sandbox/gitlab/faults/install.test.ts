import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { startTestServer, type TestServer } from '../test-server.ts'
import type { FaultRuleInput } from './rule.ts'

const run = promisify(execFile)

let server: TestServer
let branch: string
let last = 0

beforeAll(async () => {
  server = await startTestServer()
  return () => server.remove()
})
beforeEach(() => {
  last += 1
  branch = `fault-${last}`
})
afterEach(() => server.faults.clear())

const project = () => `/api/v4/projects/${encodeURIComponent(server.project.pathWithNamespace)}`
const commits = () => `${project()}/repository/commits`

function commit() {
  const actions = [{ action: 'create', file_path: `${branch}.txt`, content: 'x\n' }]
  const body = { branch, start_branch: 'main', commit_message: 'Change', actions }
  return server.call('POST', '/repository/commits', body)
}
const pushes = () => server.writes({ kind: 'push', branch })
const status = (given: Omit<Extract<FaultRuleInput, { kind: 'status' }>, 'kind' | 'path'>) =>
  server.faults.add({ kind: 'status', path: `${project()}/**`, ...given })

describe('a status', () => {
  test('is answered as GitLab words it, and nothing is done', async () => {
    const fault = status({ status: 500, method: 'POST' })
    const answer = await commit()
    expect([answer.status, answer.json]).toEqual([500, { message: '500 Internal Server Error' }])
    expect(pushes()).toEqual([])
    expect(fault).toMatchObject({ matched: 1, fired: 1 })
    expect((await server.call('GET', '/repository/branches/main')).status).toBe(200)
  })

  test('429 is the throttle: plain text, and when to come back', async () => {
    status({ status: 429, headers: { 'Retry-After': '7' } })
    const { status: code, text, headers } = await commit()
    expect([code, text]).toEqual([429, 'Retry later\n'])
    expect(headers.get('content-type')).toMatch(/^text\/plain/)
    expect(headers.get('retry-after')).toBe('7')
    expect(headers.get('ratelimit-remaining')).toBe('0')
    expect(Number(headers.get('ratelimit-reset'))).toBe(server.clock.now().getTime() / 1000 + 7)
  })

  test('429 says a minute by default', async () => {
    status({ status: 429 })
    expect((await commit()).headers.get('retry-after')).toBe('60')
  })

  test('503 comes from the proxy, which speaks no JSON', async () => {
    status({ status: 503 })
    const answer = await commit()
    expect([answer.status, answer.headers.get('content-type')]).toEqual([503, expect.stringMatching(/^text\/html/)])
    expect(answer.text).toContain('503 Service Unavailable')
  })

  test('carries the body of the rule', async () => {
    const body = { message: { error: 'This endpoint has been requested too many times. Try again later.' } }
    status({ status: 429, body })
    const answer = await commit()
    expect([answer.status, answer.json, answer.headers.get('content-type')]).toEqual([429, body, 'application/json'])
  })

  test('ends after so many times', async () => {
    const fault = status({ status: 502, times: 2 })
    const codes = [await commit(), await commit(), await commit()].map((answer) => answer.status)
    expect(codes).toEqual([502, 502, 201])
    expect(fault).toMatchObject({ matched: 3, fired: 2 })
  })
})

describe('a dropped connection', () => {
  test('before: nothing is done', async () => {
    const fault = server.faults.add({ kind: 'drop_before', path: commits(), times: 1 })
    await expect(commit()).rejects.toThrow()
    expect(fault.fired).toBe(1)
    expect(pushes()).toEqual([])
    expect((await commit()).status).toBe(201)
  })

  test('after: the commit is made exactly once, and kept', async () => {
    const fault = server.faults.add({ kind: 'drop_after', path: commits(), method: 'POST' })
    await expect(commit()).rejects.toThrow()
    expect(fault).toMatchObject({ matched: 1, fired: 1 })
    expect(pushes()).toHaveLength(1)
    server = await server.restart()
    const { json } = await server.call('GET', `/repository/branches/${branch}`)
    expect(json).toMatchObject({ commit: { title: 'Change' } })
    const again = await commit()
    expect([again.status, again.json['message']]).toEqual([400, expect.stringContaining('already exists')])
  })

  test('after: a merge request, its note and the branch are made and removed once', async () => {
    await commit()
    server.faults.add({ kind: 'drop_after', path: `${project()}/**` })
    const body = { source_branch: branch, target_branch: 'main', title: 'Lost' }
    await expect(server.call('POST', '/merge_requests', body)).rejects.toThrow()
    const [opened] = server.writes({ kind: 'open', branch })
    const note = server.call('POST', `/merge_requests/${opened?.mergeRequestIid}/notes`, { body: 'A word' })
    await expect(note).rejects.toThrow()
    await expect(server.call('DELETE', `/repository/branches/${branch}`)).rejects.toThrow()
    expect(server.writes({ branch }).map(({ kind }) => kind)).toEqual(['push', 'open', 'note', 'delete_branch'])
  })
})

describe('a delay', () => {
  test('holds the request back before anything is done', async () => {
    server.faults.add({ kind: 'delay', path: commits(), ms: 5_000, times: 1 })
    const waiting = server.clock.pending
    const answer = commit()
    await vi.waitUntil(() => server.clock.pending > waiting)
    server.clock.advance(4_999)
    expect(pushes()).toEqual([])
    server.clock.advance(1)
    expect((await answer).status).toBe(201)
    expect(pushes()).toHaveLength(1)
  })

  test('does not keep a write from a client that gave up', async () => {
    server.faults.add({ kind: 'delay', path: `${project()}/repository/branches`, ms: 5_000 })
    const waiting = server.clock.pending
    const client = new AbortController()
    const answer = server.raw(`${project()}/repository/branches`, {
      method: 'POST',
      headers: { 'private-token': 'token-of-maintainer', 'content-type': 'application/json' },
      body: JSON.stringify({ branch, ref: 'main' }),
      signal: client.signal,
    })
    await vi.waitUntil(() => server.clock.pending > waiting)
    client.abort()
    await expect(answer).rejects.toThrow(/abort/)
    server.clock.advance(5_000)
    await vi.waitUntil(() => pushes().length > 0)
    expect(pushes()).toHaveLength(1)
  })

  test('ends with the sandbox, and the request is not carried out', async () => {
    server.faults.add({ kind: 'delay', path: commits(), ms: 5_000 })
    const waiting = server.clock.pending
    const answer = commit().catch((error: unknown) => error)
    await vi.waitUntil(() => server.clock.pending > waiting)
    server = await server.restart()
    expect(await answer).toBeInstanceOf(Error)
    expect((await server.call('GET', `/repository/branches/${branch}`)).status).toBe(404)
  })
})

test('a stale read answers as before the write, to the same user only', async () => {
  const address = `/repository/branches/${branch}`
  const fault = server.faults.add({ kind: 'stale_read', path: `${project()}/repository/branches/*`, times: 1 })
  expect((await server.call('GET', address)).status).toBe(404)
  await commit()
  expect((await server.call('GET', address, undefined, 'developer')).status).toBe(200)
  const stale = await server.call('GET', address)
  expect([stale.status, stale.json]).toEqual([404, { message: '404 Branch Not Found' }])
  expect((await server.call('GET', address)).status).toBe(200)
  expect(fault.fired).toBe(1)
})

test('a git push loses its answer and is carried out once, though git sends it again', async () => {
  const work = await mkdtemp(join(tmpdir(), 'fault-push-'))
  const git = (...args: string[]) => run('git', ['-C', work, '-c', 'user.name=x', '-c', 'user.email=x@y.z', ...args])
  try {
    const url = new URL(`/${server.project.pathWithNamespace}.git`, server.url)
    Object.assign(url, { username: 'any', password: 'token-of-maintainer' })
    await git('init', '--quiet')
    await git('commit', '--quiet', '--allow-empty', '--message', 'Empty')
    const fault = server.faults.add({ kind: 'drop_after', path: '/**.git/git-receive-pack' })
    await expect(git('push', '--quiet', url.href, `HEAD:refs/heads/${branch}`)).rejects.toThrow()
    expect(fault.fired).toBeGreaterThan(0)
    expect(pushes()).toHaveLength(1)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
})
