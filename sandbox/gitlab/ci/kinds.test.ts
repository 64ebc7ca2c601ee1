/** Pipelines of every kind, as a client sees them: merged results, children, external ones, and those that wait. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createProject } from '../projects.ts'
import { startTestServer, type TestServer } from '../test-server.ts'

let server: TestServer

beforeEach(async () => {
  server = await startTestServer()
})

afterEach(() => server.remove())

/** A merge request whose branch holds this pipeline; answers both. */
async function openWith(config: string): Promise<{ iid: number; sha: string }> {
  const sha = await server.commit('topic', { '.sandbox-ci.yml': config })
  return { sha, iid: await server.open('topic') }
}

/** The merge request once it is as it should be; time passes meanwhile, and pipelines are made in the background. */
async function read(iid: number, fits: (row: Record<string, unknown>) => boolean = () => true) {
  for (let look = 0; ; look += 1) {
    const { json } = await server.call('GET', `/merge_requests/${iid}`)
    const settled = !['checking', 'unchecked'].includes(String(json['merge_status']))
    if ((settled && fits(json)) || look === 200) return json
    await server.pass(200)
  }
}

function headOf(row: Record<string, unknown>): Record<string, unknown> | null {
  return row['head_pipeline'] as Record<string, unknown> | null
}

/** The pipeline of the newest head, with this status if one is given. */
async function head(iid: number, status?: string) {
  const { commit } = (await server.call('GET', '/repository/branches/topic')).json as { commit: { id: string } }
  const fits = (row: Record<string, unknown>) => {
    const pipeline = headOf(row)
    const fresh = row['sha'] === commit.id && row['pipeline'] !== null && pipeline !== null
    return fresh && (status === undefined || pipeline['status'] === status)
  }
  return headOf(await read(iid, fits))
}

const mergeStatus = (status: string) => (row: Record<string, unknown>) => row['detailed_merge_status'] === status

describe('merged results', () => {
  const CONFIG = 'workflow: { merged_results: true }\njobs: { unit: { seconds: 30 } }'

  test('run on the merge of target and head', async () => {
    const { iid, sha } = await openWith(CONFIG)
    const pipeline = await head(iid)
    expect(pipeline).toMatchObject({ source: 'merge_request_event', ref: `refs/merge-requests/${iid}/merge` })
    const tested = (await server.call('GET', `/repository/commits/${pipeline?.['sha']}`)).json
    const main = (await server.call('GET', '/repository/branches/main')).json['commit'] as { id: string }
    expect(tested['parent_ids']).toEqual([main.id, sha])
  })

  test('count for the head where a green pipeline is required', async () => {
    await server.call('PUT', '', { only_allow_merge_if_pipeline_succeeds: true })
    const { iid, sha } = await openWith(CONFIG)
    expect(await read(iid, mergeStatus('ci_still_running'))).toMatchObject({
      detailed_merge_status: 'ci_still_running',
    })
    expect(await read(iid, mergeStatus('mergeable'))).toMatchObject({ detailed_merge_status: 'mergeable', sha })
    expect((await server.call('PUT', `/merge_requests/${iid}/merge`, { sha })).status).toBe(200)
  })

  test('follow the project where the file says nothing, and fall back to the head on conflict', async () => {
    await server.call('PUT', '', { merge_pipelines_enabled: true })
    const { iid } = await openWith('jobs: { unit: {} }')
    expect(await head(iid)).toMatchObject({ ref: `refs/merge-requests/${iid}/merge` })
    await server.commit('main', { 'README.md': 'theirs\n' })
    const sha = await server.commit('topic', { 'README.md': 'ours\n' })
    expect(await head(iid)).toMatchObject({ ref: `refs/merge-requests/${iid}/head`, sha })
  })
})

describe('child pipelines', () => {
  async function bridgeOf(pipeline: Record<string, unknown> | null) {
    const [bridge] = (await server.call('GET', `/pipelines/${pipeline?.['id']}/bridges`)).list
    return bridge
  }

  test.each([
    ['failed', 'depend', 'failed'],
    ['success', 'depend', 'success'],
    // A bridge that does not depend on its child hides how it ends.
    ['failed', null, 'success'],
    ['running', null, 'success'],
    ['running', 'depend', 'running'],
  ])('that end %s, strategy %s: the parent is %s', async (ends, strategy, parent) => {
    const { iid, sha } = await openWith(
      `jobs: { unit: {}, down: { trigger: { ends: ${ends}, strategy: ${strategy} } } }`,
    )
    await head(iid, parent)
    // Time enough for everything that ends.
    for (let look = 0; look < 20; look += 1) await server.pass(500)
    const pipeline = await head(iid)
    expect(pipeline).toMatchObject({ status: parent, source: 'merge_request_event' })
    expect(await bridgeOf(pipeline)).toMatchObject({
      name: 'down',
      status: parent,
      downstream_pipeline: { status: ends, sha, source: 'parent_pipeline', project_id: server.project.id },
    })
    const jobs = (await server.call('GET', `/pipelines/${pipeline?.['id']}/jobs`)).list
    expect(jobs.map((job) => job['name'])).toEqual(['unit'])
  })

  test('are listed only for those who ask for them, and never the head pipeline', async () => {
    const { iid } = await openWith('jobs: { down: { trigger: { ends: running } } }')
    const pipeline = await head(iid, 'success')
    const list = async (query = '') => (await server.call('GET', `/pipelines${query}`)).list.map((row) => row['id'])
    expect(await list()).toEqual([pipeline?.['id']])
    expect(await list('?source=parent_pipeline')).toHaveLength(1)
    const own = (await server.call('GET', `/merge_requests/${iid}/pipelines`)).list
    expect(own.map((row) => row['id'])).toEqual([pipeline?.['id']])
  })

  test('a retried child takes the bridge that depends on it along', async () => {
    const { iid } = await openWith('jobs: { down: { trigger: { ends: failed, strategy: depend } } }')
    const pipeline = await head(iid, 'failed')
    const child = (await bridgeOf(pipeline))?.['downstream_pipeline'] as { id: number }
    await server.call('POST', `/pipelines/${child.id}/retry`)
    expect(await bridgeOf(pipeline)).toMatchObject({ status: 'running' })
    expect((await server.call('GET', `/pipelines/${pipeline?.['id']}`)).json).toMatchObject({ status: 'running' })
  })

  test('a job of a child that fails once is green when it is run again, and is written down as one retry', async () => {
    const outcomes = '[{ status: failed, failure_reason: runner_system_failure }, success]'
    const { iid } = await openWith(`jobs: { down: { trigger: { outcomes: ${outcomes}, strategy: depend } } }`)
    const pipeline = await head(iid, 'failed')
    const child = (await bridgeOf(pipeline))?.['downstream_pipeline'] as { id: number }
    const [job] = (await server.call('GET', `/pipelines/${child.id}/jobs`)).list
    expect(job).toMatchObject({ status: 'failed', failure_reason: 'runner_system_failure' })
    expect((await server.call('POST', `/jobs/${job?.['id']}/retry`)).status).toBe(201)
    expect((await server.call('POST', `/jobs/${job?.['id']}/retry`)).status).toBe(403)
    expect(await head(iid, 'success')).toMatchObject({ id: pipeline?.['id'] })
    expect(server.writes({ kind: 'retry_job' })).toMatchObject([{ branch: 'topic', user: 'maintainer' }])
  })

  test('of another project run on its default branch, if it is there', async () => {
    const members = { [server.users.maintainer.id]: 40 }
    const other = await createProject(server.context, { path: 'other/place', files: { a: 'a' }, members })
    const { iid } = await openWith('jobs: { down: { trigger: { project: other/place } } }')
    const bridge = await bridgeOf(await head(iid, 'success'))
    expect(bridge).toMatchObject({ downstream_pipeline: { project_id: other.id, ref: 'main', source: 'pipeline' } })
    await server.commit('topic', { '.sandbox-ci.yml': 'jobs: { down: { trigger: { project: no/where } } }' })
    expect(await bridgeOf(await head(iid, 'failed'))).toMatchObject({
      status: 'failed',
      failure_reason: 'downstream_bridge_project_not_found',
      downstream_pipeline: null,
    })
  })

  test('are canceled with their parent', async () => {
    const { iid } = await openWith('jobs: { down: { trigger: { ends: running, strategy: depend } } }')
    const pipeline = await head(iid, 'running')
    await server.call('POST', `/pipelines/${pipeline?.['id']}/cancel`)
    expect(await bridgeOf(pipeline)).toMatchObject({ status: 'canceled', downstream_pipeline: { status: 'canceled' } })
  })
})

describe('external pipelines', () => {
  const report = (sha: string, body: object, who: 'developer' | 'reporter' = 'developer') =>
    server.call('POST', `/statuses/${sha}`, body, who)

  test('are made by the first status of a commit, and end as the statuses say', async () => {
    const sha = await server.commit('topic', { a: 'a\n' })
    const iid = await server.open('topic')
    expect((await report(sha, { state: 'running' }, 'reporter')).status).toBe(403)
    const first = await report(sha, { state: 'running', name: 'build', target_url: 'https://ci.example.com/1' })
    expect([first.status, first.json]).toMatchObject([
      201,
      { status: 'running', name: 'build', ref: 'topic', sha, author: { username: 'developer' } },
    ])
    expect(await head(iid)).toMatchObject({ source: 'external', sha, ref: 'topic', status: 'running' })
    await report(sha, { state: 'success', name: 'build' })
    await report(sha, { state: 'failed', name: 'lint', description: 'two complaints' })
    expect(await head(iid, 'failed')).toMatchObject({ id: first.json['pipeline_id'], status: 'failed' })
    await report(sha, { state: 'success', name: 'lint' })
    expect(await head(iid)).toMatchObject({ status: 'success' })
    const { list } = await server.call('GET', `/repository/commits/${sha}/statuses`)
    expect(list.map(({ name, status }) => [name, status])).toEqual([
      ['build', 'success'],
      ['lint', 'success'],
    ])
  })

  test('refuse what cannot be: an unknown commit, and the same state again', async () => {
    const sha = await server.commit('topic', { a: 'a\n' })
    expect((await report('f'.repeat(40), { state: 'success' })).json).toEqual({ message: '404 Commit Not Found' })
    expect((await report(sha, { state: 'done' })).status).toBe(400)
    await report(sha, { state: 'pending' })
    expect((await report(sha, { state: 'pending' })).status).toBe(400)
  })

  test('a status joins the pipeline that the branch has', async () => {
    const sha = await server.commit('topic', {
      '.sandbox-ci.yml': 'workflow: { branches: all, merge_requests: false }\njobs: { unit: {} }',
    })
    const iid = await server.open('topic')
    expect(await head(iid, 'success')).toMatchObject({ source: 'push', status: 'success' })
    await report(sha, { state: 'failed', name: 'scan' })
    expect(await head(iid)).toMatchObject({ source: 'push', status: 'failed' })
  })
})

test('a manual job that may not fail blocks the merge until somebody plays it', async () => {
  await server.call('PUT', '', { only_allow_merge_if_pipeline_succeeds: true })
  const { iid } = await openWith('jobs: { release: { when: manual, allow_failure: false } }')
  expect(await head(iid, 'manual')).toMatchObject({ status: 'manual' })
  expect(await read(iid)).toMatchObject({ detailed_merge_status: 'ci_must_pass' })
  const { list } = await server.call('GET', '/jobs?scope=manual')
  await server.call('POST', `/jobs/${list[0]?.['id']}/play`)
  expect(await head(iid, 'success')).toMatchObject({ status: 'success' })
  expect(await read(iid)).toMatchObject({ detailed_merge_status: 'mergeable' })
})

test('a skipped pipeline counts only where the project says so', async () => {
  await server.call('PUT', '', { only_allow_merge_if_pipeline_succeeds: true })
  const actions = [{ action: 'create', file_path: '.sandbox-ci.yml', content: 'jobs: { unit: {} }' }]
  const body = { branch: 'topic', start_branch: 'main', commit_message: 'Add CI [skip ci]', actions }
  await server.call('POST', '/repository/commits', body)
  const iid = await server.open('topic')
  expect(await head(iid, 'skipped')).toMatchObject({ status: 'skipped' })
  expect(await read(iid)).toMatchObject({ detailed_merge_status: 'ci_must_pass' })
  await server.call('PUT', '', { allow_merge_on_skipped_pipeline: true })
  expect(await read(iid)).toMatchObject({ detailed_merge_status: 'mergeable' })
})

test('a restart goes on where a bridge was', async () => {
  const { iid } = await openWith('jobs: { down: { trigger: { ends: success, seconds: 5, strategy: depend } } }')
  await head(iid)
  server = await server.restart()
  expect(await head(iid, 'success')).toMatchObject({ status: 'success' })
})
