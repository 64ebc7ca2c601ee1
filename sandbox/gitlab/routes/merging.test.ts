import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
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

describe('merging', () => {
  const merge = (iid: number, body: object = {}, who: 'maintainer' | 'developer' = 'maintainer') =>
    server.call('PUT', one(iid, '/merge'), body, who)

  test('makes a merge commit with both parents and removes the branch', async () => {
    const sha = await server.commit(branch, { [branch]: 'x\n' })
    const before = (await server.call('GET', '/repository/branches/main')).json
    const iid = await server.open(branch)
    const merged = await merge(iid, { sha, should_remove_source_branch: true })
    expect(merged.status).toBe(200)
    expect(merged.json).toMatchObject({ state: 'merged', merge_user: { username: 'maintainer' }, merge_error: null })
    const commit = (await server.call('GET', `/repository/commits/${merged.json['merge_commit_sha']}`)).json
    expect(commit['parent_ids']).toEqual([(before['commit'] as { id: string }).id, sha])
    expect(commit['message']).toBe(
      `Merge branch '${branch}' into 'main'\n\nMerge ${branch}\n\nSee merge request Group/sub/Widgets!${iid}`,
    )
    expect((await server.call('HEAD', `/repository/branches/${branch}`)).status).toBe(204)
    await server.pass(1_000)
    expect((await server.call('HEAD', `/repository/branches/${branch}`)).status).toBe(404)
    expect(await read(iid)).toMatchObject({ state: 'merged', detailed_merge_status: 'not_open' })
  })

  test('leaves a branch that moved on after the merge', async () => {
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch, { remove_source_branch: true })
    await merge(iid)
    await server.commit(branch, { [branch]: 'later\n' })
    await server.pass(1_000)
    expect((await server.call('HEAD', `/repository/branches/${branch}`)).status).toBe(204)
  })

  test('refuses in the order of the checks', async () => {
    const sha = await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch, { title: 'Draft: no' })
    const outcome = async (answer: ReturnType<typeof merge>) => [(await answer).status, (await answer).json]
    expect(await outcome(merge(999_999))).toEqual([404, { message: '404 Not found' }])
    expect(await outcome(merge(iid, { sha: 'f'.repeat(40) }, 'developer'))).toEqual([
      401,
      { message: '401 Unauthorized' },
    ])
    expect(await outcome(merge(iid, { sha: 'f'.repeat(40) }))).toEqual([
      409,
      { message: `SHA does not match HEAD of source branch: ${sha}` },
    ])
    expect(await outcome(merge(iid, { sha }))).toEqual([405, { message: '405 Method Not Allowed' }])
    await server.call('PUT', one(iid), { title: 'yes' })
    expect((await merge(iid, { sha })).status).toBe(200)
    expect((await merge(iid)).status).toBe(405)
  })

  test('checks for conflicts by itself when nobody asked before', async () => {
    await server.commit(branch, { shared: `${branch}\n` })
    const iid = await server.open(branch)
    await server.commit('main', { shared: `main for ${branch}\n` })
    await server.pass(1_000)
    expect((await merge(iid)).status).toBe(405)
    expect(await read(iid)).toMatchObject({ merge_status: 'cannot_be_merged' })
    await server.commit('main', { shared: 'base\n' })
    await server.pass(1_000)
  })

  test('squashes to one commit', async () => {
    await server.commit(branch, { [branch]: '1\n' })
    await server.commit(branch, { [branch]: '2\n' })
    const iid = await server.open(branch)
    const { json } = await merge(iid, { squash: true, squash_commit_message: 'One' })
    const squashed = (await server.call('GET', `/repository/commits/${json['squash_commit_sha']}`)).json
    expect(squashed).toMatchObject({ title: 'One', parent_ids: [expect.any(String)] })
    const merged = (await server.call('GET', `/repository/commits/${json['merge_commit_sha']}`)).json
    expect((merged['parent_ids'] as string[])[1]).toBe(squashed['id'])
    expect((await server.call('GET', `/repository/files/${branch}/raw?ref=main`)).text).toBe('2\n')
  })

  test('by fast-forward makes no commit', async () => {
    server.project.mergeMethod = 'ff'
    const sha = await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch)
    const { json } = await merge(iid)
    server.project.mergeMethod = 'merge'
    expect(json).toMatchObject({ state: 'merged', merge_commit_sha: null })
    expect((await server.call('GET', '/repository/branches/main')).json).toMatchObject({ commit: { id: sha } })
  })

  test('with auto_merge waits for the pipeline', async () => {
    const sha = await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch)
    const now = server.context.timestamp()
    const pipeline = {
      id: server.context.nextId(),
      iid: 1,
      projectId: server.project.id,
      sha,
      ref: `refs/merge-requests/${iid}/head`,
      source: 'merge_request_event' as const,
      userId: server.users.maintainer.id,
      mergeRequestIid: iid,
      beforeSha: sha,
      status: 'running' as 'running' | 'success',
      stages: [],
      yamlErrors: null,
      createdAt: now,
      updatedAt: now,
      startedAt: now,
      finishedAt: null,
    }
    server.context.state.pipelines.push(pipeline)
    const waiting = await merge(iid, { auto_merge: true })
    expect(waiting.json).toMatchObject({ state: 'opened', merge_when_pipeline_succeeds: true })
    pipeline.status = 'success'
    server.context.signals.emit('pipeline', { pipeline })
    await server.pass(1_000)
    expect(await read(iid)).toMatchObject({ state: 'merged', merge_user: { username: 'maintainer' } })
  })

  test('merge_ref is the merge to be, the same at each reading', async () => {
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch)
    const first = (await server.call('GET', one(iid, '/merge_ref'))).json['commit_id']
    expect((await server.call('GET', one(iid, '/merge_ref'))).json['commit_id']).toBe(first)
    const { json } = await server.call('GET', `/repository/compare?from=main&to=${first}&straight=true`)
    expect(json['diffs']).toEqual([expect.objectContaining({ new_path: branch, new_file: true })])
  })
})

describe('rebasing', () => {
  const state = (iid: number) => read(iid, '?include_rebase_in_progress=true')

  test('replays the commits onto the target', async () => {
    await server.commit(branch, { [branch]: '1\n' })
    await server.commit(branch, { [branch]: '2\n' })
    const iid = await server.open(branch)
    const tip = await server.commit('main', { 'other.txt': branch })
    const asked = await server.call('PUT', one(iid, '/rebase'))
    expect([asked.status, asked.json]).toEqual([202, { rebase_in_progress: true }])
    expect(await state(iid)).toMatchObject({ rebase_in_progress: true })
    expect((await server.call('PUT', one(iid, '/rebase'))).status).toBe(409)
    await server.pass(1_000)
    await server.pass(1_000)
    expect(await state(iid)).toMatchObject({ rebase_in_progress: false, merge_error: null })
    const { list } = await server.call('GET', one(iid, '/commits'))
    expect(list).toHaveLength(2)
    expect(list[1]?.['parent_ids']).toEqual([tip])
  })

  test('says so when it conflicts, and leaves the branch alone', async () => {
    const sha = await server.commit(branch, { shared: `${branch}\n` })
    const iid = await server.open(branch)
    await server.commit('main', { shared: `main for ${branch}\n` })
    await server.call('PUT', one(iid, '/rebase'))
    await server.pass(1_000)
    expect(await state(iid)).toMatchObject({
      rebase_in_progress: false,
      merge_error: 'Rebase failed: Rebase locally, resolve all conflicts, then push the branch.',
      sha,
    })
    await server.commit('main', { shared: 'base\n' })
  })
})
