import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { SandboxSignals } from '../state.ts'
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
/** Reads once to start the check, lets it end, and reads again. */
async function settled(iid: number) {
  await read(iid)
  await server.pass(1_000)
  return read(iid)
}

describe('creating', () => {
  test('answers before the request is prepared', async () => {
    const sha = await server.commit(branch, { [branch]: 'x\n' })
    const body = {
      source_branch: branch,
      target_branch: 'main',
      title: 'Draft: T',
      labels: ['b', 'a'],
      description: 'D',
    }
    const created = await server.call('POST', '/merge_requests', body)
    expect(created.status).toBe(201)
    expect(created.json).toMatchObject({
      title: 'Draft: T',
      draft: true,
      work_in_progress: true,
      state: 'opened',
      sha,
      labels: ['a', 'b'],
      merge_status: 'checking',
      detailed_merge_status: 'preparing',
      prepared_at: null,
      changes_count: null,
      diff_refs: null,
      has_conflicts: false,
      user: { can_merge: true },
      references: { full: `Group/sub/Widgets!${created.json['iid']}` },
    })
    await server.pass(1_000)
    const prepared = await read(Number(created.json['iid']))
    expect(prepared).toMatchObject({ changes_count: '1', diff_refs: { head_sha: sha } })
    expect(prepared['prepared_at']).not.toBeNull()
  })

  test('a second one for the same branches is a conflict', async () => {
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch)
    const body = { source_branch: branch, target_branch: 'main', title: 'Again' }
    const answer = await server.call('POST', '/merge_requests', body)
    expect([answer.status, answer.json]).toEqual([
      409,
      { message: [`Another open merge request already exists for this source branch: !${iid}`] },
    ])
    await server.call('PUT', one(iid), { state_event: 'close' })
    expect((await server.call('POST', '/merge_requests', body)).status).toBe(201)
    const reopened = await server.call('PUT', one(iid), { state_event: 'reopen' })
    expect(reopened.status).toBe(409)
  })

  test.each<[string, object, number, object]>([
    [
      'same branches',
      { source_branch: 'main' },
      422,
      { message: ["You can't use same project/branch for source and target"] },
    ],
    ['a missing source', { source_branch: 'gone' }, 400, { message: { source_branch: ['does not exist'] } }],
    ['no title', { title: undefined }, 400, { error: 'title is missing' }],
    ['an empty title', { title: '' }, 400, { error: 'title is empty' }],
    [
      'a long title',
      { title: 'x'.repeat(256) },
      400,
      { message: { title: ['is too long (maximum is 255 characters)'] } },
    ],
    [
      'a foreign target',
      { target_project_id: 999_999 },
      422,
      { message: ['Source project is not a fork of the target project'] },
    ],
  ])('is refused for %s', async (_title, change, status, body) => {
    await server.call('POST', '/repository/branches', { branch: 'refused', ref: 'main' })
    const answer = await server.call('POST', '/merge_requests', {
      source_branch: 'refused',
      target_branch: 'main',
      title: 'T',
      ...change,
    })
    expect([answer.status, answer.json]).toEqual([status, body])
  })

  test('quick actions in the description are executed and leave it', async () => {
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch, { description: 'Text\n/label ~bug\n```\n/close\n```' })
    expect(await read(iid)).toMatchObject({ description: 'Text\n```\n/close\n```', labels: ['bug'], state: 'opened' })
  })
})

describe('mergeability', () => {
  test('is checked after a read asks for it', async () => {
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch)
    const list = async () => (await server.call('GET', `/merge_requests?source_branch=${branch}`)).list[0]
    expect(await list()).toMatchObject({ merge_status: 'unchecked', detailed_merge_status: 'unchecked' })
    expect(await read(iid)).toMatchObject({ merge_status: 'checking', detailed_merge_status: 'checking' })
    expect(await read(iid)).toMatchObject({ merge_status: 'checking' })
    await server.pass(1_000)
    expect(await read(iid)).toMatchObject({ merge_status: 'can_be_merged', detailed_merge_status: 'mergeable' })
    await server.commit('main', { 'other.txt': branch })
    await server.pass(1_000)
    expect(await list()).toMatchObject({ merge_status: 'unchecked' })
    await server.call('GET', `/merge_requests?source_branch=${branch}&with_merge_status_recheck=true`)
    await server.pass(1_000)
    expect(await list()).toMatchObject({ merge_status: 'can_be_merged' })
  })

  test('sees a real conflict, and its end', async () => {
    await server.commit(branch, { shared: `${branch}\n` })
    const iid = await server.open(branch)
    await server.commit('main', { shared: `main for ${branch}\n` })
    await server.pass(1_000)
    expect(await settled(iid)).toMatchObject({
      merge_status: 'cannot_be_merged',
      detailed_merge_status: 'conflict',
      has_conflicts: true,
    })
    await server.commit('main', { shared: 'base\n' })
    await server.pass(1_000)
    const list = (await server.call('GET', `/merge_requests?source_branch=${branch}`)).list
    expect(list[0]).toMatchObject({ merge_status: 'cannot_be_merged_recheck', has_conflicts: false })
    expect(await settled(iid)).toMatchObject({ detailed_merge_status: 'mergeable' })
  })

  test('names the first reason in order', async () => {
    const { project } = server
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch, { title: 'Draft: x' })
    project.approvalsRequired = 1
    project.onlyAllowMergeIfPipelineSucceeds = true
    const status = async () => (await settled(iid))['detailed_merge_status']
    expect(await status()).toBe('draft_status')
    await server.call('PUT', one(iid), { title: 'x' })
    expect(await status()).toBe('not_approved')
    await server.call('POST', one(iid, '/approve'), {}, 'developer')
    expect(await status()).toBe('ci_must_pass')
    project.onlyAllowMergeIfPipelineSucceeds = false
    expect(await status()).toBe('mergeable')
    project.mergeMethod = 'ff'
    await server.commit('main', { 'other.txt': branch })
    await server.pass(1_000)
    expect(await status()).toBe('need_rebase')
    project.mergeMethod = 'merge'
    project.approvalsRequired = 0
    await server.call('PUT', one(iid), { state_event: 'close' })
    expect((await read(iid))['detailed_merge_status']).toBe('not_open')
  })

  test('a request without commits exists and cannot be merged', async () => {
    await server.call('POST', '/repository/branches', { branch, ref: 'main' })
    const iid = await server.open(branch)
    expect(await settled(iid)).toMatchObject({ detailed_merge_status: 'commits_status', changes_count: null })
  })
})

describe('pushes', () => {
  test('reach the request a moment later', async () => {
    const old = await server.commit(branch, { [branch]: '1\n' })
    const iid = await server.open(branch)
    await settled(iid)
    const events: SandboxSignals['merge_request'][0][] = []
    server.context.signals.on('merge_request', (event) => events.push(event))
    const sha = await server.commit(branch, { [branch]: '2\n', more: 'm\n' })
    expect(await read(iid)).toMatchObject({ sha: old, merge_status: 'can_be_merged' })
    await server.pass(60)
    expect(await read(iid)).toMatchObject({ sha, changes_count: '2', merge_status: 'checking' })
    expect(events).toEqual([expect.objectContaining({ action: 'update', oldrev: old })])
  })

  test('deleting the source branch closes the request', async () => {
    await server.commit(branch, { [branch]: '1\n' })
    const iid = await server.open(branch)
    await server.call('DELETE', `/repository/branches/${branch}`)
    await server.pass(1_000)
    expect(await read(iid)).toMatchObject({ state: 'closed', closed_by: { username: 'maintainer' } })
  })

  test('bringing the head into the target by other means merges the request', async () => {
    const sha = await server.commit(branch, { [branch]: '1\n' })
    const iid = await server.open(branch)
    await server.call('POST', '/repository/commits', {
      branch: 'main',
      start_sha: sha,
      force: true,
      commit_message: 'On top',
      actions: [{ action: 'create', file_path: `${branch}-top`, content: '' }],
    })
    // The protected default branch keeps its commits: the push above went through only as a fast-forward.
    await server.pass(1_000)
    expect(await read(iid)).toMatchObject({ state: 'merged', merge_commit_sha: sha })
  })
})

describe('changing', () => {
  test('labels are replaced, added, removed and cleared', async () => {
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch, { labels: 'a,b' })
    const labels = async (body: object) => (await server.call('PUT', one(iid), body)).json['labels']
    expect(await labels({ add_labels: 'c', remove_labels: 'a' })).toEqual(['b', 'c'])
    expect(await labels({ labels: ['z'] })).toEqual(['z'])
    expect(await labels({ labels: '' })).toEqual([])
  })

  test('a state event that does not fit changes nothing', async () => {
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch)
    await server.call('PUT', one(iid), { state_event: 'close' })
    const again = await server.call('PUT', one(iid), { state_event: 'close' })
    expect([again.status, again.json['state']]).toEqual([200, 'closed'])
  })

  test('needs at least one known key', async () => {
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch)
    const answer = await server.call('PUT', one(iid), { unknown: 1 })
    expect(answer.status).toBe(400)
    expect(answer.json['error']).toMatch(/^title, .* are missing, at least one parameter must be provided$/)
  })

  test('people are set and cleared', async () => {
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch, { assignee_ids: [server.users.developer.id] })
    expect(await read(iid)).toMatchObject({ assignee: { username: 'developer' }, reviewers: [] })
    const { json } = await server.call('PUT', one(iid), { assignee_ids: 0, reviewer_ids: [server.users.reporter.id] })
    expect(json).toMatchObject({ assignee: null, assignees: [], reviewers: [{ username: 'reporter' }] })
  })
})

test('lists filter by state, branch, label, draft and words', async () => {
  await server.commit(branch, { [branch]: 'x\n' })
  const iid = await server.open(branch, { title: 'Draft: needle in hay', labels: 'rare' })
  const found = async (query: string) =>
    (await server.call('GET', `/merge_requests?${query}`)).list.map((item) => item['iid'])
  for (const query of [
    `source_branch=${branch}`,
    'labels=rare',
    'search=NEEDLE',
    `iids[]=${iid}`,
    'draft=true&search=hay',
  ]) {
    expect(await found(query)).toEqual([iid])
  }
  expect(await found(`source_branch=${branch}&state=closed`)).toEqual([])
  expect((await server.call('GET', '/merge_requests?state=half')).json).toEqual({
    error: 'state does not have a valid value',
  })
  expect((await server.call('GET', '/merge_requests?view=simple&labels=rare')).list[0]).not.toHaveProperty('sha')
})
