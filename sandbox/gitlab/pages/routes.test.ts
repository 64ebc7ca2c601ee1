import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLog } from '../../../src/lib/log.ts'
import { type Ci, startCi } from '../ci/engine.ts'
import { buildServer } from '../server.ts'
import { openTestSandbox, type TestSandbox } from '../test-support.ts'
import { registerPages } from './routes.ts'

const EVIL = '<script>alert(1)</script>'

let sandbox: TestSandbox
let ci: Ci
let app: FastifyInstance

beforeEach(async () => {
  sandbox = await openTestSandbox()
  ci = startCi(sandbox.context)
  app = buildServer(silentLog)
  registerPages(app, sandbox.context)
})

afterEach(async () => {
  await app.close()
  await ci.stop()
  await sandbox.remove()
})

async function get(url: string) {
  const response = await app.inject(url)
  return { status: response.statusCode, headers: response.headers, text: response.body }
}

async function openEvil() {
  const sha = await sandbox.push(
    'topic/evil',
    { 'evil.html': `${EVIL}\n`, '.sandbox-ci.yml': `jobs: { unit: { log: "${EVIL}", outcomes: [failed] } }` },
    `Change ${EVIL}`,
  )
  const mergeRequest = await sandbox.openMergeRequest('topic/evil')
  mergeRequest.title = `Title ${EVIL}`
  mergeRequest.description = `Description ${EVIL}`
  const { context, project, user } = sandbox
  const at = context.timestamp()
  const note = { projectId: project.id, noteableType: 'MergeRequest', noteableIid: 1, authorId: user.id } as const
  context.state.notes.push({ ...note, id: 900, body: `Note ${EVIL}`, system: false, createdAt: at, updatedAt: at })
  await ci.idle()
  sandbox.clock.advance(100)
  await context.exclusive(project, async () => {})
  return { sha, mergeRequest }
}

test('a merge request page shows title, branches, description, diff, jobs and notes, all as text', async () => {
  await openEvil()
  sandbox.clock.advance(10_000)
  const page = await get('/group/sub/widgets/-/merge_requests/1')
  expect(page.status).toBe(200)
  for (const shown of ['Title', 'Description', 'Note', 'topic/evil', 'evil.html', 'unit', 'failed', 'open']) {
    expect(page.text).toContain(shown)
  }
  expect(page.text).toContain('&lt;script&gt;')
  expect(page.text).not.toContain('<script')
})

test('no page lets markup of a repository, a title or a log through', async () => {
  const { sha, mergeRequest } = await openEvil()
  sandbox.clock.advance(10_000)
  const [job] = sandbox.context.state.jobs
  const paths = [
    '',
    '/-/merge_requests',
    '/-/pipelines',
    `/-/pipelines/${mergeRequest.headPipelineId}`,
    `/-/jobs/${job?.id}`,
    `/-/commit/${sha}`,
    '/-/branches',
    '/-/tree/topic/evil',
    '/-/blob/topic/evil/evil.html',
    '/-/compare/main...topic%2Fevil',
  ]
  for (const path of paths) {
    const page = await get(`/group/sub/widgets${path}`)
    expect([path, page.status]).toEqual([path, 200])
    expect(page.text).not.toContain('<script')
    expect(page.headers['content-security-policy']).toMatch(/default-src 'none'/)
    expect(page.headers['content-security-policy']).not.toContain('script-src')
  }
})

test('the page of an open request renews itself until a while after its pipeline has ended', async () => {
  await openEvil()
  const path = '/group/sub/widgets/-/merge_requests/1'
  expect((await get(path)).text).toContain('http-equiv="refresh"')
  sandbox.clock.advance(10_000)
  expect((await get(path)).text).toContain('http-equiv="refresh"')
  sandbox.clock.advance(60_000)
  expect((await get(path)).text).not.toContain('http-equiv="refresh"')
})

test('a job page shows the log without its control characters', async () => {
  await openEvil()
  sandbox.clock.advance(10_000)
  const [job] = sandbox.context.state.jobs
  const page = await get(`/group/sub/widgets/-/jobs/${job?.id}`)
  expect(page.text).toContain('ERROR: Job failed: exit code 1')
  expect(page.text).toContain('script_failure')
  expect(page.text).not.toContain('\u001b')
  expect(page.text).not.toContain('section_start')
})

test('people, groups and the list of projects have pages too', async () => {
  expect((await get('/mara')).text).toContain('Mara Maintainer')
  expect((await get('/groups/group/sub')).text).toContain('group/sub/widgets')
  expect((await get('/')).text).toContain('group/sub/widgets')
})

test('an empty project has a page', async () => {
  await sandbox.remove()
  await app.close()
  sandbox = await openTestSandbox({ files: {} })
  app = buildServer(silentLog)
  registerPages(app, sandbox.context)
  expect((await get('/group/sub/widgets')).status).toBe(200)
})

test.each([
  '/group/sub/widgets/-/merge_requests/99',
  '/group/sub/widgets/-/jobs/x',
  '/group/sub/widgets/-/commit/0000000',
  '/group/sub/widgets/-/tree/no-such-branch',
  '/group/sub/widgets/-/unknown',
  '/nobody',
  '/group/sub/widgets/-/blob/main/%3Cscript%3E',
])('%s is not found, on a page', async (path) => {
  const page = await get(path)
  expect(page.status).toBe(404)
  expect(page.headers['content-type']).toMatch(/text\/html/)
  expect(page.text).not.toContain('<script')
})

test('an unknown address of the API keeps the answer of the API', async () => {
  const page = await get('/api/v4/unknown')
  expect(page.status).toBe(404)
  expect(JSON.parse(page.text)).toEqual({ error: '404 Not Found' })
})
