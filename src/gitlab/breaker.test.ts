import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Log, silentLog } from '../lib/log.ts'
import { createGitLab, type GitLabClient } from './create-gitlab.ts'
import { GitLabError } from './errors.ts'

const NOON = Date.parse('2026-03-02T12:00:00Z')
const TOKEN = 'glpat-never-to-be-seen'

let server: Server
let host: string
let gitlab: GitLabClient
let now: number
let requests: number
let answer: (response: ServerResponse) => void
let lines: { readonly level: string; readonly fields: object; readonly message: string }[]

beforeEach(async () => {
  now = NOON
  requests = 0
  lines = []
  server = createServer((_request, response) => {
    requests += 1
    answer(response)
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  gitlab = createClient()
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

function createClient(timeoutMs = 5_000): GitLabClient {
  const noteDown = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message })
  const log: Log = { ...silentLog, info: noteDown('info'), warn: noteDown('warn'), error: noteDown('error') }
  const breaker = { failures: 10, open_for: 15_000, max_open_for: 120_000 }
  return createGitLab({ url: `http://${host}`, token: TOKEN, timeoutMs, breaker, log, now: () => now })
}

function answerWith(status: number, headers: Readonly<Record<string, string>> = {}): void {
  answer = (response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end('{}')
}

/** The code of the failure; '' when GitLab answered that there is no such project, as a healthy one does here. */
async function call(signal?: AbortSignal): Promise<string> {
  try {
    await gitlab.getProject(1, signal === undefined ? {} : { signal })
    return ''
  } catch (error) {
    return error instanceof GitLabError ? error.code : String(error)
  }
}

async function calls(count: number): Promise<void> {
  for (let made = 0; made < count; made += 1) await call()
}

async function refusal(): Promise<GitLabError> {
  const before = requests
  const error: unknown = await gitlab.getProject(1).catch((reason: unknown) => reason)
  expect(requests).toBe(before)
  if (!(error instanceof GitLabError)) throw new Error('expected a refusal')
  return error
}

describe('a GitLab that is down', () => {
  beforeEach(() => answerWith(503))

  test('is reached by a thousand calls only as far as the breaker opens, then by one probe each time', async () => {
    await calls(1_000)
    expect(requests).toBe(10)
    for (const [index, waitMs] of [15_000, 30_000, 60_000, 120_000, 120_000].entries()) {
      now += waitMs - 1
      await calls(100)
      expect(requests).toBe(10 + index)
      now += 1
      await Promise.all(Array.from({ length: 100 }, () => call()))
      expect(requests).toBe(11 + index)
    }
  })

  test('is refused with its name, the time of the next try and what is left until then', async () => {
    await calls(10)
    now += 5_000
    expect(await refusal()).toMatchObject({
      code: 'gitlab_unavailable',
      failure: 'transient',
      retryAfterMs: 10_000,
      status: null,
      message: `GitLab at ${host} is left alone until it works again; it is tried again at 2026-03-02T12:00:15.000Z`,
    })
  })

  test('is in the log once when it fails and once when it is back, without the token', async () => {
    await calls(50)
    now += 15_000
    await calls(50)
    answerWith(404)
    now += 30_000
    await calls(50)
    expect(lines).toMatchObject([
      { level: 'warn', fields: { host, until: new Date(NOON + 15_000) }, message: 'GitLab is left alone for a while' },
      { level: 'info', fields: { host }, message: 'GitLab answers again' },
    ])
    expect(JSON.stringify(lines)).not.toContain(TOKEN)
  })

  test('shows in the view of the breakers', async () => {
    expect(gitlab.breakers()).toEqual([{ host, state: 'closed', until: null }])
    await calls(10)
    expect(gitlab.breakers()).toEqual([{ host, state: 'open', until: new Date(NOON + 15_000) }])
    now += 15_000
    expect(gitlab.breakers()).toEqual([{ host, state: 'half_open', until: new Date(NOON + 15_000) }])
    answerWith(404)
    await call()
    expect(gitlab.breakers()).toEqual([{ host, state: 'closed', until: null }])
  })
})

describe('a GitLab that has just come back', () => {
  test('gets exactly one probe, and everybody else only after its answer', async () => {
    answerWith(503)
    await calls(10)
    now += 15_000
    const arrived = Promise.withResolvers<ServerResponse>()
    answer = arrived.resolve
    const probe = call()
    const response = await arrived.promise
    const others = await Promise.all(Array.from({ length: 1_000 }, () => call()))
    expect(new Set(others)).toEqual(new Set(['gitlab_unavailable']))
    expect((await refusal()).message).toContain('another call is trying it just now')
    expect(requests).toBe(11)
    answerWith(404)
    answerTo(response)
    expect(await probe).toBe('')
    expect(new Set(await Promise.all(Array.from({ length: 100 }, () => call())))).toEqual(new Set(['']))
    expect(requests).toBe(111)
  })

  test('is probed by the next call when the first one was given up', async () => {
    answerWith(503)
    await calls(10)
    now += 15_000
    const stop = new AbortController()
    answer = () => stop.abort()
    expect(await call(stop.signal)).toBe('gitlab_aborted')
    answerWith(404)
    expect(await call()).toBe('')
    expect(requests).toBe(12)
  })

  function answerTo(response: ServerResponse): void {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{}')
  }
})

describe('what counts', () => {
  test.each([400, 401, 403, 404, 409, 422])('an answer of %i shows that GitLab is alive', async (status) => {
    answerWith(503)
    await calls(9)
    answerWith(status)
    await call()
    answerWith(503)
    await calls(9)
    expect(gitlab.breakers()).toMatchObject([{ state: 'closed' }])
    await call()
    expect(gitlab.breakers()).toMatchObject([{ state: 'open' }])
  })

  test.each<[string, number, Readonly<Record<string, string>>, number]>([
    ['429', 429, { 'retry-after': '40' }, 40_000],
    ['503', 503, { 'retry-after': '600' }, 600_000],
  ])('one %s with Retry-After keeps everybody away for as long as it says', async (_title, status, headers, waitMs) => {
    answerWith(status, headers)
    await call()
    expect(await refusal()).toMatchObject({ retryAfterMs: waitMs })
    answerWith(404)
    now += waitMs
    expect(await call()).toBe('')
  })

  test('a 429 that names no time is a failure like others', async () => {
    answerWith(429)
    await calls(20)
    expect(requests).toBe(10)
  })

  test('a host that cannot be reached fails', async () => {
    await new Promise((resolve) => server.close(resolve))
    await calls(10)
    expect(await refusal()).toMatchObject({ retryAfterMs: 15_000 })
  })

  test('a host that does not answer in time fails', async () => {
    gitlab = createClient(50)
    answer = () => {}
    await Promise.all(Array.from({ length: 10 }, () => call()))
    expect(await refusal()).toMatchObject({ retryAfterMs: 15_000 })
  })

  test('calls that their own callers gave up do not', async () => {
    for (let made = 0; made < 20; made += 1) {
      const stop = new AbortController()
      answer = () => stop.abort()
      expect(await call(stop.signal)).toBe('gitlab_aborted')
    }
    expect(gitlab.breakers()).toMatchObject([{ state: 'closed' }])
  })
})
