import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Ci, startCi } from '../ci/engine.ts'
import { ZERO_SHA } from '../git/repository.ts'
import { moveBranch } from '../git/write.ts'
import { recordPush } from '../pushes.ts'
import type { Hook, Note } from '../state.ts'
import { openTestSandbox, type TestSandbox } from '../test-support.ts'
import { startWebhooks, type Webhooks } from './deliver.ts'

type Body = Record<string, unknown> & { object_attributes: Record<string, unknown> }

interface Delivery {
  readonly headers: IncomingHttpHeaders
  readonly body: Body
}

const SAMPLES = new URL('../../../../shared/gitlab-events/', import.meta.url)
const HOOK_TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/

let sandbox: TestSandbox
let ci: Ci
let webhooks: Webhooks
let receiver: Server
let answerWith: number
let deliveries: Delivery[]

beforeEach(async () => {
  deliveries = []
  answerWith = 200
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      deliveries.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString('utf8')) })
      response.writeHead(answerWith).end()
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  sandbox = await openTestSandbox()
  sandbox.project.hooks.push(hook({}))
  ci = startCi(sandbox.context)
  webhooks = startWebhooks(sandbox.context)
})

afterEach(async () => {
  await webhooks.stop()
  await ci.stop()
  await sandbox.remove()
  receiver.closeAllConnections()
  await new Promise((resolve) => receiver.close(resolve))
})

function hook(given: Partial<Hook>): Hook {
  const { port } = receiver.address() as AddressInfo
  return {
    id: 77,
    url: `http://127.0.0.1:${port}/hook`,
    token: 'hook-secret',
    mergeRequestsEvents: true,
    pipelineEvents: true,
    jobEvents: true,
    noteEvents: true,
    pushEvents: true,
    ...given,
  }
}

async function settled(): Promise<void> {
  await ci.idle()
  await sandbox.context.exclusive(sandbox.project, async () => {})
  await webhooks.idle()
}

/** The bodies of one kind, oldest event first as far as the sandbox's own order goes. */
function bodies(kind: string): Body[] {
  return deliveries.map(({ body }) => body).filter((body) => body['object_kind'] === kind)
}

async function sample(name: string): Promise<Body> {
  return JSON.parse(await readFile(new URL(`${name}.json`, SAMPLES), 'utf8'))
}

/** Every key path of a body, list elements as one. */
function shape(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : shape(value[0], `${path}[]`)
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([key, inner]) => shape(inner, `${path}.${key}`))
}

async function openWithPipeline(): Promise<void> {
  await sandbox.push('feature', { '.sandbox-ci.yml': 'jobs: { unit: { outcomes: [failed] } }' })
  const mergeRequest = await sandbox.openMergeRequest('feature')
  mergeRequest.labels.push('automated')
  sandbox.project.labels.push('automated')
  await settled()
  sandbox.clock.advance(5_000)
  await settled()
}

function addNote(given: Partial<Note>): void {
  const { context, project, user } = sandbox
  const at = context.timestamp()
  const note: Note = {
    id: 500,
    projectId: project.id,
    noteableType: 'MergeRequest',
    noteableIid: 1,
    authorId: user.id,
    body: 'Looks good',
    system: false,
    createdAt: at,
    updatedAt: at,
    ...given,
  }
  context.state.notes.push(note)
  context.signals.emit('note', { note })
}

describe('a delivery', () => {
  test('carries the headers of GitLab', async () => {
    await sandbox.push('feature', { 'a.txt': 'a' })
    await settled()
    expect(deliveries[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': expect.stringMatching(/^GitLab\/\d/),
      'x-gitlab-event': 'Push Hook',
      'x-gitlab-instance': sandbox.context.externalUrl,
      'x-gitlab-token': 'hook-secret',
      'x-gitlab-webhook-uuid': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'x-gitlab-event-uuid': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'idempotency-key': expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
  })

  test('goes to every hook that wants the event, with one event UUID, and to no other', async () => {
    sandbox.project.hooks = [
      hook({ id: 1 }),
      hook({ id: 2, token: null }),
      hook({ id: 3, pushEvents: false, token: 'never' }),
    ]
    await sandbox.push('feature', { 'a.txt': 'a' })
    await settled()
    expect(deliveries.map(({ headers }) => headers['x-gitlab-token'] ?? 'none').toSorted()).toEqual([
      'hook-secret',
      'none',
    ])
    expect(new Set(deliveries.map(({ headers }) => headers['x-gitlab-event-uuid'])).size).toBe(1)
    expect(new Set(deliveries.map(({ headers }) => headers['idempotency-key'])).size).toBe(2)
  })

  test('that fails is not repeated and disturbs nothing', async () => {
    answerWith = 500
    await sandbox.push('feature', { 'a.txt': 'a' })
    await settled()
    sandbox.project.hooks.push(hook({ id: 2, url: 'http://127.0.0.1:1/unreachable' }))
    await sandbox.push('feature', { 'b.txt': 'b' })
    await settled()
    expect(deliveries).toHaveLength(2)
  })

  test('is not started any more after the end', async () => {
    await webhooks.stop()
    await sandbox.push('feature', { 'a.txt': 'a' })
    await settled()
    expect(deliveries).toEqual([])
  })
})

describe('bodies', () => {
  test('a push names its commits, with their files, oldest first', async () => {
    const before = await sandbox.push('main', { 'a.txt': 'a' }, 'Add a')
    await settled()
    deliveries = []
    const after = await sandbox.push('main', { 'a.txt': 'b', 'c.txt': 'c' }, 'Change a\n\nAnd add c.')
    await settled()
    expect(bodies('push')).toMatchObject([
      {
        ref: 'refs/heads/main',
        before,
        after,
        checkout_sha: after,
        ref_protected: true,
        total_commits_count: 1,
        commits: [{ id: after, title: 'Change a', added: ['c.txt'], modified: ['a.txt'], removed: [] }],
      },
    ])
  })

  test('a deleted branch has no commits and nothing to check out', async () => {
    const before = await sandbox.push('old', { 'a.txt': 'a' })
    await settled()
    deliveries = []
    const { context, project, user } = sandbox
    await moveBranch(context.git(project), 'old', before, ZERO_SHA)
    recordPush(context, { project, branch: 'old', before, after: ZERO_SHA, userId: user.id })
    await settled()
    expect(bodies('push')).toMatchObject([
      { before, after: ZERO_SHA, checkout_sha: null, commits: [], total_commits_count: 0 },
    ])
  })

  test('a push of more than three branches sends nothing', async () => {
    const { context, project, user } = sandbox
    const push = { project, before: ZERO_SHA, after: ZERO_SHA, userId: user.id, branchesInPush: 4 }
    for (const branch of ['a', 'b', 'c', 'd']) context.signals.emit('push', { ...push, branch })
    await settled()
    expect(deliveries).toEqual([])
  })

  test('a merge request tells what happened to it, in the times of hooks', async () => {
    await openWithPipeline()
    const before = sandbox.context.findMergeRequest(sandbox.project.id, 1)?.sha
    const after = await sandbox.push('feature', { 'a.txt': 'a' })
    sandbox.clock.advance(1000)
    await settled()
    const [opened, updated] = bodies('merge_request').toSorted((a) =>
      a.object_attributes['action'] === 'open' ? -1 : 1,
    )
    expect(opened?.object_attributes).toMatchObject({ action: 'open', iid: 1, state: 'opened', state_id: 1 })
    expect(opened?.object_attributes).not.toHaveProperty('oldrev')
    expect(opened?.object_attributes['created_at']).toMatch(HOOK_TIME)
    expect(updated?.object_attributes).toMatchObject({ action: 'update', oldrev: before, last_commit: { id: after } })
    expect(updated).not.toHaveProperty('assignees')
  })

  test('a pipeline is told at each status, with its jobs and its merge request', async () => {
    await openWithPipeline()
    const told = bodies('pipeline').map(({ object_attributes }) => object_attributes['status'])
    expect(told.toSorted()).toEqual(['failed', 'pending', 'running'])
    const failed = bodies('pipeline').find(({ object_attributes }) => object_attributes['status'] === 'failed')
    expect(failed).toMatchObject({
      object_attributes: { ref: 'feature', source: 'merge_request_event', detailed_status: 'failed', stages: ['test'] },
      merge_request: { iid: 1, source_branch: 'feature' },
      builds: [{ name: 'unit', status: 'failed', failure_reason: 'script_failure', manual: false }],
    })
    expect(failed?.object_attributes['finished_at']).toMatch(HOOK_TIME)
  })

  test('a job is told at each status; its commit carries the number of the pipeline', async () => {
    await openWithPipeline()
    const told = bodies('build').map((body) => body['build_status'])
    expect(told.toSorted()).toEqual(['created', 'failed', 'pending', 'running'])
    const [pipeline] = sandbox.context.state.pipelines
    expect(bodies('build').find((body) => body['build_status'] === 'failed')).toMatchObject({
      ref: 'refs/merge-requests/1/head',
      build_name: 'unit',
      build_failure_reason: 'script_failure',
      retries_count: 0,
      pipeline_id: pipeline?.id,
      commit: { id: pipeline?.id, sha: pipeline?.sha },
      project_name: 'group / sub / widgets',
    })
  })

  test('a note brings its merge request; a note of the system brings nothing', async () => {
    await openWithPipeline()
    addNote({ id: 501, system: true })
    addNote({ id: 502 })
    await settled()
    expect(bodies('note')).toMatchObject([
      { object_attributes: { id: 502, note: 'Looks good', action: 'create' }, merge_request: { iid: 1 } },
    ])
  })
})

describe.skipIf(!existsSync(SAMPLES))('the shape of GitLab', () => {
  /** Keys of a sample that this body lacks; lists and nullable parts that are empty on our side are not compared. */
  async function missing(body: Body | undefined, name: string): Promise<string[]> {
    const ours = new Set(shape(body))
    const isEmptyHere = (path: string) =>
      [...ours].some((own) => path.startsWith(`${own}.`) || path.startsWith(`${own}[]`))
    return shape(await sample(name)).filter((path) => !ours.has(path) && !isEmptyHere(path))
  }

  test('is there in full for every kind', async () => {
    await openWithPipeline()
    addNote({})
    const reviewer = { assigneeIds: [], reviewerIds: [] }
    const mergeRequest = sandbox.context.findMergeRequest(sandbox.project.id, 1)
    if (mergeRequest === null) throw new Error('no merge request')
    const changes = { updated_at: { previous: '2026-03-02T10:00:00.000Z', current: '2026-03-02T10:00:01.000Z' } }
    sandbox.context.signals.emit('merge_request', {
      mergeRequest: Object.assign(mergeRequest, reviewer),
      action: 'update',
      userId: sandbox.user.id,
      oldrev: ZERO_SHA,
      changes,
    })
    await settled()
    const update = bodies('merge_request').find(({ object_attributes }) => object_attributes['action'] === 'update')
    expect(await missing(update, 'merge_request_update_oldrev')).toEqual([])
    expect(update?.['changes']).toEqual({
      updated_at: { previous: '2026-03-02 10:00:00 UTC', current: '2026-03-02 10:00:01 UTC' },
    })
    const failed = bodies('pipeline').find(({ object_attributes }) => object_attributes['status'] === 'failed')
    expect(await missing(failed, 'pipeline_failed')).toEqual([])
    const build = bodies('build').find((body) => body['build_status'] === 'failed')
    expect(await missing(build, 'build_failed_script_failure')).toEqual([])
    expect(await missing(bodies('note')[0], 'note_merge_request')).toEqual([])
    expect(await missing(bodies('push')[0], 'push')).toEqual(['.commits[].modified[]'])
  })
})
