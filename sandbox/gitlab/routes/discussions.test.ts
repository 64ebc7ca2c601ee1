import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../test-server.ts'

let server: TestServer
let iid: number

beforeEach(async () => {
  server = await startTestServer()
  await server.commit('topic', { a: 'a\n' })
  iid = await server.open('topic')
})

afterEach(() => server.remove())

const one = (below = '') => `/merge_requests/${iid}${below}`

async function status() {
  await server.call('GET', one())
  await server.pass(1_000)
  return (await server.call('GET', one())).json['detailed_merge_status']
}

test('an open thread stands in the way of merging where the project says so', async () => {
  const opened = await server.call('POST', one('/discussions'), { body: 'Why?' }, 'developer')
  expect([opened.status, opened.json]).toMatchObject([
    201,
    { individual_note: false, notes: [{ body: 'Why?', type: 'DiscussionNote', resolvable: true, resolved: false }] },
  ])
  expect(await status()).toBe('mergeable')
  await server.call('PUT', '', { only_allow_merge_if_all_discussions_are_resolved: true })
  expect(await status()).toBe('discussions_not_resolved')
  expect((await server.call('GET', one())).json).toMatchObject({ blocking_discussions_resolved: false })
  expect((await server.call('PUT', one('/merge'))).status).toBe(405)
  const thread = one(`/discussions/${opened.json['id']}`)
  await server.call('POST', `${thread}/notes`, { body: 'Because.' })
  expect((await server.call('PUT', thread, { resolved: true }, 'reporter')).status).toBe(403)
  const resolved = await server.call('PUT', thread, { resolved: true })
  expect(resolved.json).toMatchObject({
    notes: [
      { resolved: true, resolved_by: { username: 'maintainer' } },
      { body: 'Because.', resolved: true },
    ],
  })
  expect(await status()).toBe('mergeable')
  await server.call('PUT', thread, { resolved: false })
  expect(await status()).toBe('discussions_not_resolved')
})

test('a plain note is a thread of its own, which nothing waits for', async () => {
  await server.call('PUT', '', { only_allow_merge_if_all_discussions_are_resolved: true })
  await server.call('POST', one('/notes'), { body: 'By the way' })
  const { list } = await server.call('GET', one('/discussions'))
  expect(list).toMatchObject([{ individual_note: true, notes: [{ body: 'By the way', resolvable: false }] }])
  expect(await status()).toBe('mergeable')
  expect((await server.call('PUT', one(`/discussions/${list[0]?.['id']}`), { resolved: true })).status).toBe(403)
})

test('demanded approvals are counted, and a push takes them away where the project says so', async () => {
  await server.call('POST', '/approvals', { approvals_before_merge: 1 })
  expect(await status()).toBe('not_approved')
  expect((await server.call('POST', one('/approve'))).status).toBe(401)
  const approved = await server.call('POST', one('/approve'), undefined, 'developer')
  expect(approved.json).toMatchObject({ approved: true, approvals_required: 1, approvals_left: 0 })
  expect(await status()).toBe('mergeable')
  await server.commit('topic', { a: 'b\n' })
  await server.pass(1_000)
  expect(await status()).toBe('mergeable')
  await server.call('POST', '/approvals', { reset_approvals_on_push: true })
  await server.commit('topic', { a: 'c\n' })
  await server.pass(1_000)
  expect(await status()).toBe('not_approved')
  expect((await server.call('GET', one('/approvals'))).json).toMatchObject({ approvals_left: 1, approved_by: [] })
})
