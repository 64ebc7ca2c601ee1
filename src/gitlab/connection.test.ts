import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createGitLab } from './create-gitlab.ts'
import { GitLabError } from './errors.ts'
import type { GitLab } from './port.ts'

const TOKEN = 'glpat-never-to-be-seen'

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
}

let server: Server
let url: string
let seen: Seen[]
let answer: (response: ServerResponse, request: IncomingMessage) => void

beforeEach(async () => {
  seen = []
  server = createServer((request, response) => {
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers })
    answer(response, request)
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

function client(timeoutMs = 5_000): GitLab {
  return createGitLab({ url, token: TOKEN, timeoutMs })
}

function answerWith(status: number, body: string, headers: Readonly<Record<string, string>> = {}): void {
  answer = (response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
}

async function failureOf(promise: Promise<unknown>): Promise<GitLabError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof GitLabError)) throw new Error(`expected a GitLabError, got ${inspect(error)}`)
  return error
}

describe('every request', () => {
  test('carries the token as a bearer and never as PRIVATE-TOKEN', async () => {
    answerWith(404, '{"message":"404 Project Not Found"}')
    expect(await client().getProject('group/name')).toBeNull()
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`)
    expect(seen[0]?.headers).not.toHaveProperty('private-token')
    expect(seen[0]?.url).toBe('/api/v4/projects/group%2Fname')
  })

  test('asks for the token anew, so that it may rotate', async () => {
    answerWith(404, '{}')
    const tokens = ['first', 'second']
    const gitlab = createGitLab({ url, token: async () => tokens.shift() ?? '', timeoutMs: 5_000 })
    await gitlab.getProject(1)
    await gitlab.getProject(1)
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer second'])
  })

  test.each(['..', '.'])('refuses the name %s, which a URL would fold away', async (name) => {
    const error = await failureOf(client().getProject(name))
    expect(error).toMatchObject({ code: 'gitlab_rejected', failure: 'permanent' })
    expect(seen).toHaveLength(0)
  })
})

describe('a failure', () => {
  test.each<[number, string, 'transient' | 'permanent']>([
    [400, 'gitlab_rejected', 'permanent'],
    [401, 'gitlab_unauthorized', 'transient'],
    [403, 'gitlab_forbidden', 'permanent'],
    [409, 'gitlab_conflict', 'permanent'],
    [413, 'gitlab_rejected', 'permanent'],
    [429, 'gitlab_rate_limited', 'transient'],
    [500, 'gitlab_unavailable', 'transient'],
    [502, 'gitlab_unavailable', 'transient'],
    [503, 'gitlab_unavailable', 'transient'],
  ])('with status %i is %s, %s, and is not tried again by the client', async (status, code, failure) => {
    answerWith(status, '{"message":"the reason"}')
    const error = await failureOf(client().getProject(1))
    expect(error).toMatchObject({ code, failure, status, answer: 'the reason' })
    expect(error.message).toContain('the reason')
    expect(seen).toHaveLength(1)
  })

  test('carries how long GitLab asks to wait', async () => {
    answerWith(429, 'Retry later', { 'retry-after': '7', 'content-type': 'text/plain' })
    expect(await failureOf(client().getProject(1))).toMatchObject({ retryAfterMs: 7_000, answer: 'Retry later' })
  })

  test('never shows the token, however it is printed', async () => {
    answerWith(500, '{"message":"boom"}')
    const error = await failureOf(client().getProject(1))
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(TOKEN)
    expect(JSON.stringify(error)).not.toContain(TOKEN)
  })

  test('to reach GitLab at all is transient and names the cause', async () => {
    await new Promise((resolve) => server.close(resolve))
    const error = await failureOf(client().getProject(1))
    expect(error).toMatchObject({ code: 'gitlab_unavailable', failure: 'transient', status: null })
    expect(error.message).toContain('ECONNREFUSED')
    expect(inspect(error, { depth: 20 })).not.toContain(TOKEN)
  })

  test('by a broken connection in the middle of an answer is transient', async () => {
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
      response.write('{', () => response.destroy())
    }
    expect(await failureOf(client().getProject(1))).toMatchObject({ code: 'gitlab_unavailable', failure: 'transient' })
  })

  test('by an answer that never comes is a timeout', async () => {
    answer = () => {}
    expect(await failureOf(client(50).getProject(1))).toMatchObject({ code: 'gitlab_timeout', failure: 'transient' })
  })

  test('by an answer that begins and never ends is a timeout', async () => {
    answer = (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{')
    expect(await failureOf(client(50).getProject(1))).toMatchObject({ code: 'gitlab_timeout' })
  })

  test('by a redirect is an error; the token goes nowhere else', async () => {
    answerWith(301, '', { location: `${url}/api/v4/projects/2` })
    const error = await failureOf(client().getProject(1))
    expect(error).toMatchObject({ code: 'gitlab_redirected', failure: 'permanent' })
    expect(seen).toHaveLength(1)
  })

  test.each<[string, string, string]>([
    ['a proxy page', '<html>Please wait</html>', 'text/html'],
    ['broken JSON', '{"id":', 'application/json'],
    ['other JSON', '{"id":"seven"}', 'application/json'],
    ['nothing', '', 'application/json'],
  ])('to answer with anything but %s is transient and quotes nothing', async (_title, body, type) => {
    answerWith(200, body, { 'content-type': type })
    const error = await failureOf(client().getProject(1))
    expect(error).toMatchObject({ code: 'gitlab_unexpected_answer', failure: 'transient' })
    expect(error.message).not.toContain('Please wait')
    expect(error.message).not.toContain('seven')
  })
})

describe('an aborted signal', () => {
  test('keeps a write from beginning', async () => {
    const error = await failureOf(client().deleteBranch(1, 'x', { signal: AbortSignal.abort() }))
    expect(error).toMatchObject({ code: 'gitlab_aborted', failure: 'transient' })
    expect(seen).toHaveLength(0)
  })

  test('ends a call that is under way', async () => {
    const stop = new AbortController()
    answer = () => stop.abort()
    expect(await failureOf(client().getProject(1, { signal: stop.signal }))).toMatchObject({ code: 'gitlab_aborted' })
  })
})

describe('lists', () => {
  test("an open merge request from a fork is not taken for the project's own", async () => {
    const mergeRequest = (iid: number, source_project_id: number) => ({
      iid,
      project_id: 1,
      source_project_id,
      title: 'x',
      state: 'opened',
      source_branch: 'bot/x',
      target_branch: 'main',
      web_url: url,
    })
    answerWith(200, JSON.stringify([mergeRequest(8, 2)]))
    expect(await client().findOpenMergeRequest(1, 'bot/x', 'main')).toBeNull()
    answerWith(200, JSON.stringify([mergeRequest(8, 2), mergeRequest(7, 1)]))
    expect(await client().findOpenMergeRequest(1, 'bot/x', 'main')).toMatchObject({ iid: 7 })
  })

  test('are read page by page to their end', async () => {
    const entry = (path: string) => ({ id: 'a'.repeat(40), type: 'blob', path, mode: '100644' })
    answer = (response, request) => {
      const page = new URL(request.url ?? '', url).searchParams.get('page') ?? '1'
      const next = `<${url}/api/v4/projects/1/repository/tree?page=2&per_page=100&ref=main>; rel="next"`
      response.writeHead(200, { 'content-type': 'application/json', ...(page === '1' ? { link: next } : {}) })
      response.end(JSON.stringify([entry(page === '1' ? 'a' : 'b')]))
    }
    const tree = await client().listTree(1, '', 'main')
    expect(tree.map(({ path }) => path)).toEqual(['a', 'b'])
    expect(seen.map(({ url: asked }) => asked)).toHaveLength(2)
  })
})

describe('the log of a job', () => {
  const reply = (chunks: readonly string[]) => {
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      for (const chunk of chunks) response.write(chunk)
      response.end()
    }
  }

  test('is read to its end, of which alone is kept what was asked for', async () => {
    reply(Array.from({ length: 500 }, (_, line) => `line ${line} ${'x'.repeat(1_000)}\n`))
    const tail = await client().getJobLogTail(1, 2, 1_500)
    expect(tail).toHaveLength(1_500)
    expect(tail).toMatch(/x\nline 499 x+\n$/)
    expect(seen[0]?.url).toBe('/api/v4/projects/1/jobs/2/trace')
  })

  test('that is shorter comes whole', async () => {
    reply(['short\n'])
    expect(await client().getJobLogTail(1, 2, 1_500)).toBe('short\n')
  })

  test.each([403, 404])('that GitLab answers with %i is none', async (status) => {
    answerWith(status, '{"message":"no"}')
    expect(await client().getJobLogTail(1, 2, 1_500)).toBeNull()
  })

  test('that does not end in time is none, and an outage is an error', async () => {
    answer = (response) => void response.writeHead(200, { 'content-type': 'text/plain' }).write('x')
    expect(await client(50).getJobLogTail(1, 2, 1_500)).toBeNull()
    answerWith(502, '')
    expect(await failureOf(client().getJobLogTail(1, 2, 1_500))).toMatchObject({ code: 'gitlab_unavailable' })
  })
})
