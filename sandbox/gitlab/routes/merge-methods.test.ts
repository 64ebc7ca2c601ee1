import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../test-server.ts'

let server: TestServer
let branch: string
let last = 0

beforeAll(async () => {
  server = await startTestServer()
})

afterAll(() => server.remove())

beforeEach(async () => {
  branch = `topic-${++last}`
  await set({ merge_method: 'merge', squash_option: 'default_off' })
})

const set = (settings: object) => server.call('PUT', '', settings)
const one = (iid: number, below = '') => `/merge_requests/${iid}${below}`
const merge = (iid: number, body: object = {}) => server.call('PUT', one(iid, '/merge'), body)
const commitOf = async (sha: unknown) => (await server.call('GET', `/repository/commits/${String(sha)}`)).json

async function read(iid: number) {
  await server.call('GET', one(iid))
  await server.pass(1_000)
  return (await server.call('GET', one(iid))).json
}

async function mainHead(): Promise<string> {
  const { commit } = (await server.call('GET', '/repository/branches/main')).json as { commit: { id: string } }
  return commit.id
}

/** A merge request of two commits. */
async function openTwo(more: Readonly<Record<string, unknown>> = {}): Promise<number> {
  await server.commit(branch, { [branch]: '1\n' })
  await server.commit(branch, { [branch]: '2\n' })
  return server.open(branch, more)
}

describe.each(['ff', 'rebase_merge'])('with %s', (method) => {
  test('a branch behind its target needs a rebase, and merges after it', async () => {
    await set({ merge_method: method })
    await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch)
    await server.commit('main', { 'main.txt': branch })
    await server.pass(1_000)
    expect(await read(iid)).toMatchObject({ detailed_merge_status: 'need_rebase', has_conflicts: false })
    expect((await merge(iid)).status).toBe(405)
    await server.call('PUT', one(iid, '/rebase'))
    await server.pass(1_000)
    await server.pass(1_000)
    expect(await read(iid)).toMatchObject({ detailed_merge_status: 'mergeable' })
    const before = await mainHead()
    const { json } = await merge(iid)
    const head = await commitOf(await mainHead())
    if (method === 'ff') {
      expect(json).toMatchObject({ state: 'merged', merge_commit_sha: null, squash_commit_sha: null })
      expect(head).toMatchObject({ id: json['sha'], parent_ids: [before] })
    } else {
      expect(json).toMatchObject({ state: 'merged', merge_commit_sha: head['id'] })
      expect(head['parent_ids']).toEqual([before, json['sha']])
    }
  })

  test('a squash lands as one commit', async () => {
    await set({ merge_method: method })
    const iid = await openTwo({ squash: true })
    const before = await mainHead()
    const { json } = await merge(iid, { squash_commit_message: 'One' })
    const squashed = await commitOf(json['squash_commit_sha'])
    expect(squashed).toMatchObject({ title: 'One', parent_ids: [before] })
    expect((await mainHead()) === squashed['id']).toBe(method === 'ff')
  })
})

describe('squashing', () => {
  test.each([
    ['never', true, { squash: true }, false],
    ['default_off', false, {}, false],
    ['default_off', false, { squash: true }, true],
    // GitLab stores a `true` given with the merge, and takes no notice of a `false`.
    ['default_off', true, { squash: false }, true],
    ['default_on', undefined, {}, true],
    ['default_on', false, {}, false],
    ['always', true, { squash: false }, true],
    ['always', false, { squash: true }, true],
  ])('option %s, on the request %s, with the merge %j: %s', async (option, own, given, squashes) => {
    await set({ squash_option: option })
    const iid = await openTwo(own === undefined ? {} : { squash: own })
    const { status, json } = await merge(iid, given)
    expect(status).toBe(200)
    expect(json['squash_commit_sha'] !== null).toBe(squashes)
  })

  test('that the project requires and the request does not want is refused by the merge itself', async () => {
    await set({ squash_option: 'always' })
    const iid = await openTwo({ squash: false })
    const refused = await merge(iid)
    expect([refused.status, refused.json]).toEqual([422, { message: 'Branch cannot be merged' }])
    expect(await read(iid)).toMatchObject({
      state: 'opened',
      squash: false,
      squash_on_merge: true,
      merge_error: 'This project requires squashing commits when merge requests are accepted.',
    })
  })

  test('one commit that already says the same makes no new one', async () => {
    const sha = await server.commit(branch, { [branch]: 'x\n' })
    const iid = await server.open(branch, { title: `Change ${branch}`, squash: true })
    expect((await merge(iid)).json).toMatchObject({ squash_commit_sha: sha })
  })
})

test('merge trains are off', async () => {
  expect((await server.call('GET', '')).json).toMatchObject({ merge_trains_enabled: false })
})
