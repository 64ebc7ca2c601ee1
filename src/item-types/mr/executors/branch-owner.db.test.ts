import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createMrWorld, type MrWorld } from '../../../../test/support/mr-world.ts'
import { errorOfAnswer, timeoutError } from '../../../gitlab/errors.ts'
import type { GitLabCommitRequest } from '../../../gitlab/port.ts'

let world: MrWorld
let branch: string
let file: string
let last = 0

beforeAll(async () => {
  world = await createMrWorld({ files: { 'README.md': '# Widgets\n', 'src/a.txt': 'a\n', 'src/b/c.txt': 'c\n' } })
})
afterAll(() => world.remove())

beforeEach(() => {
  last += 1
  branch = `bot/change-${last}`
  file = `docs/note-${last}.md`
})

function submit(given: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const file_actions = [{ action: 'upsert', file_path: file, content: 'A note.\n' }]
  return world.submit({ source_branch: branch, file_actions, ...given })
}

async function head(): Promise<string | null> {
  const answer = await world.server.call('GET', `/repository/branches/${encodeURIComponent(branch)}`)
  return answer.status === 200 ? String((answer.json['commit'] as Record<string, unknown>)['id']) : null
}

/** GitLab does this as well, whatever it was asked for. */
function smuggle(action: GitLabCommitRequest['actions'][number]): void {
  world.alter('createCommit', ([project, request, ...rest]) => {
    const { actions, ...others } = request as GitLabCommitRequest
    return [project, { ...others, actions: [...actions, action] }, ...rest]
  })
}

const timeout = () => timeoutError({ method: 'GET', endpoint: 'projects/1/repository/tree' })

/** Happens when the commit is made, so that the next call of whatever it names is one of the looks at it. */
function failAfterCommit(fail: () => void): void {
  world.alter('createCommit', (given) => {
    fail()
    return given
  })
}

describe('a commit that holds something else than was inspected', () => {
  test.each<[string, GitLabCommitRequest['actions'][number]]>([
    ['one more file', { action: 'create', file_path: '.gitlab-ci.yml', content: 'x: 1\n' }],
    ['one more file in a new directory', { action: 'create', file_path: 'a/b/c', content: 'x' }],
    ['another content elsewhere', { action: 'update', file_path: 'src/b/c.txt', content: 'evil\n' }],
    ['a file less', { action: 'delete', file_path: 'src/a.txt' }],
    ['another mode', { action: 'chmod', file_path: 'README.md', execute_filemode: true }],
  ])('%s: leaves nothing behind, and ends the item', async (_title, extra) => {
    smuggle(extra)
    const id = await submit()
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'failed', lastError: { code: 'tree_mismatch' } })
    expect(await head()).toBeNull()
    const { list } = await world.server.call('GET', `/merge_requests?source_branch=${encodeURIComponent(branch)}`)
    expect(list).toEqual([])
  })

  test('of an open merge request: it is closed', async () => {
    const id = await submit()
    await world.work(id)
    const { mrIid } = (await world.look(id)).detail
    smuggle({ action: 'delete', file_path: 'src/a.txt' })
    await submit({ file_actions: [{ action: 'upsert', file_path: file, content: 'Another note.\n' }] })
    await world.work(id)
    expect((await world.look(id)).item.lastError).toMatchObject({ code: 'tree_mismatch' })
    await world.server.pass(1_000)
    expect((await world.server.call('GET', `/merge_requests/${mrIid}`)).json).toMatchObject({ state: 'closed' })

    await world.queue.retry(id, 'tester')
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'active', lastError: null })
    expect(await world.mergeRequestOf(id)).toMatchObject({ iid: mrIid, state: 'opened' })
  })

  test('on another commit than the one it was planned on: the same', async () => {
    await world.server.commit('person/other', { 'unseen.txt': 'x\n' })
    const other = await world.server.call('GET', '/repository/branches/person%2Fother')
    world.alter('createCommit', ([project, request, ...rest]) => {
      const startSha = String((other.json['commit'] as Record<string, unknown>)['id'])
      return [project, { ...(request as GitLabCommitRequest), startSha }, ...rest]
    })
    const id = await submit()
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'failed', lastError: { code: 'tree_mismatch' } })
    expect(await head()).toBeNull()
  })

  test('ends the item with the same code when GitLab does not let the branch be deleted', async () => {
    smuggle({ action: 'delete', file_path: 'src/a.txt' })
    const call = { method: 'DELETE', endpoint: 'branches' }
    world.refuse('deleteBranch', errorOfAnswer(call, { status: 403, text: '', retryAfter: null }))
    const id = await submit()
    await world.work(id)
    const { item, detail } = await world.look(id)
    expect(item).toMatchObject({ phase: 'failed', lastError: { code: 'tree_mismatch' } })
    expect(item.lastError?.message).toContain('does not let the service delete')
    expect(detail).toMatchObject({ writtenSha: null, mrIid: null })
  })

  test.each<[string, () => void]>([
    ['its answer is lost', () => world.loseAnswer('createCommit')],
    ['the look at it fails', () => failAfterCommit(() => world.refuse('listTree', timeout()))],
    ['the lease is lost during the look', () => failAfterCommit(() => world.stopBefore('listTree'))],
  ])('is not taken for verified when %s', async (_title, fail) => {
    fail()
    smuggle({ action: 'delete', file_path: 'src/a.txt' })
    const id = await submit()
    await world.work(id)
    expect((await world.look(id)).detail).toMatchObject({ writtenSha: null, mrIid: null })
    const unverified = await head()
    await world.later(id)
    const { item, detail } = await world.look(id)
    expect(item).toMatchObject({ phase: 'active', lastError: null })
    expect(detail.writtenSha).not.toBe(unverified)
    const { json } = await world.server.call('GET', `/repository/compare?from=main&to=${detail.writtenSha}`)
    expect((json['diffs'] as readonly { new_path: string }[]).map(({ new_path }) => new_path)).toEqual([file])
  })
})

describe("somebody else's commits on the source branch", () => {
  beforeEach(async () => {
    await world.server.call('POST', '/repository/branches', { branch, ref: 'main' })
    await world.server.commit(branch, { 'person.txt': 'mine\n' })
  })

  test('are left alone', async () => {
    const before = await head()
    const id = await submit()
    await world.work(id)
    expect((await world.look(id)).item.lastError).toMatchObject({ code: 'branch_not_owned' })
    expect(await head()).toBe(before)
  })

  test.each<[string, () => void]>([
    ['when the submission forces it', () => {}],
    ['also when the answer is lost', () => world.loseAnswer('createCommit')],
    ['also when the lease is lost', () => world.answerLate('createCommit')],
  ])('are written over %s, and their commit is remembered', async (_title, fail) => {
    const before = await head()
    fail()
    const id = await submit({ force_overwrite: true })
    await world.work(id)
    await world.later(id)
    const { item, detail } = await world.look(id)
    expect(item).toMatchObject({ phase: 'active', lastError: null })
    expect(detail).toMatchObject({ overwrittenSha: before, writtenSha: await head() })
    const commit = await world.server.call('GET', `/repository/commits/${detail.writtenSha}`)
    expect(commit.json['message']).toContain(`Workqueue-Overwrote: ${before}`)
    await world.later(id)
    await world.later(id)
    const { list } = await world.server.call('GET', `/merge_requests/${detail.mrIid}/notes`)
    expect(list.map(({ body }) => String(body)).join()).toContain(`their head was \`${before}\``)
  })

  test('are not written over unread: what came meanwhile is read first', async () => {
    let theirs: string | null = null
    const id = await submit({ force_overwrite: true })
    world.alter('listTree', async (given) => {
      theirs = await world.server.commit(branch, { 'person.txt': 'mine, again\n' })
      return given
    })
    await world.work(id)
    expect(await head()).toBe(theirs)
    expect((await world.look(id)).item).toMatchObject({ phase: 'active', lastError: { code: 'branch_moved' } })
    await world.later(id)
    expect((await world.look(id)).detail).toMatchObject({ overwrittenSha: theirs, writtenSha: await head() })
  })

  test('of a protected branch are never written over', async () => {
    const before = await head()
    await world.server.call('POST', '/protected_branches', { name: branch })
    const id = await submit({ force_overwrite: true })
    await world.work(id)
    expect((await world.look(id)).item.lastError).toMatchObject({ code: 'source_branch_protected' })
    expect(await head()).toBe(before)
  })
})

test("the branch of an item that was removed is still the service's", async () => {
  const first = await submit()
  await world.work(first)
  const { mrIid } = (await world.look(first)).detail
  await world.server.call('PUT', `/merge_requests/${mrIid}`, { state_event: 'close' })
  await world.later(first)
  expect((await world.look(first)).item).toMatchObject({ phase: 'cancelled', resolution: 'closed' })
  await world.database.db.deleteFrom('work_items').where('id', '=', first).execute()

  const second = await submit({ file_actions: [{ action: 'upsert', file_path: file, content: 'Another note.\n' }] })
  await world.work(second)
  expect((await world.look(second)).item).toMatchObject({ phase: 'active', lastError: null })
  expect((await world.look(second)).detail.writtenSha).toBe(await head())
})

describe('a commit that only looks like one of the service', () => {
  let message: string
  beforeEach(async () => {
    const first = await submit()
    await world.work(first)
    message = String((await world.server.call('GET', `/repository/commits/${await head()}`)).json['message'])
    await world.database.db.deleteFrom('work_items').where('id', '=', first).execute()
  })

  async function push(given: Readonly<Record<string, unknown>>, who: 'developer' | 'maintainer'): Promise<void> {
    const actions = [{ action: 'create', file_path: `person-${last}.txt`, content: 'mine\n' }]
    const body = { branch, commit_message: message, actions, ...given }
    expect((await world.server.call('POST', '/repository/commits', body, who)).status).toBe(201)
  }

  async function submitAgain(): Promise<unknown> {
    const id = await submit()
    await world.work(id)
    return (await world.look(id)).item.lastError
  }

  test('is a stranger when a person made it and kept the message', async () => {
    await push({ start_branch: 'main', force: true }, 'developer')
    expect(await submitAgain()).toMatchObject({ code: 'branch_not_owned' })
  })

  test("is a stranger when it lies on somebody else's commits", async () => {
    await push({ start_branch: 'main', force: true, commit_message: 'Mine' }, 'developer')
    await push({ actions: [{ action: 'create', file_path: `more-${last}.txt`, content: 'x' }] }, 'maintainer')
    expect(await submitAgain()).toMatchObject({ code: 'branch_not_owned' })
  })
})

describe("a commit whose answer was lost, when the service's token is another user's by now", () => {
  const ANOTHER = { id: 4_711, commitEmail: 'another-bot@example.com' }
  let id: string

  beforeEach(async () => {
    id = await submit()
    world.loseAnswer('createCommit')
    await world.work(id)
    expect((await world.look(id)).detail.writtenSha).toBeNull()
    world.answer('getOwnUser', ANOTHER)
  })

  test('is taken for written, because it is what was asked for word for word', async () => {
    const before = await head()
    await world.later(id)
    const { item, detail } = await world.look(id)
    expect(item).toMatchObject({ phase: 'active', lastError: null })
    expect([detail.writtenSha, await head()]).toEqual([before, before])
  })

  test.each<[string, (message: string) => Readonly<Record<string, unknown>>]>([
    ['one more file', () => ({ actions: [{ action: 'create', file_path: `extra-${last}.txt`, content: 'x' }] })],
    ['another message', (message) => ({ commit_message: `Closes #1\n\n${message}` })],
  ])('is left alone when somebody has given it %s', async (_title, change) => {
    const { json } = await world.server.call('GET', `/repository/commits/${await head()}`)
    const message = String(json['message'])
    const body = {
      branch,
      start_branch: 'main',
      force: true,
      commit_message: message,
      actions: [{ action: 'create', file_path: file, content: 'A note.\n' }],
      ...change(message),
    }
    expect((await world.server.call('POST', '/repository/commits', body, 'developer')).status).toBe(201)
    const theirs = await head()
    await world.later(id)
    expect((await world.look(id)).item.lastError).toMatchObject({ code: 'branch_not_owned' })
    expect(await head()).toBe(theirs)
  })
})
