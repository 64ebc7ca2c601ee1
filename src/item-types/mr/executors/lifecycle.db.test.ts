import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createMrWorld, type MrWorld } from '../../../../test/support/mr-world.ts'

const CI = 'stages: [test]\njobs:\n  unit: { stage: test, seconds: 1 }\n'
const BINARY = Buffer.from([0, 1, 2, 13, 10, 255, 254])

let world: MrWorld
let branch: string
let file: string
let last = 0

beforeAll(async () => {
  world = await createMrWorld({
    files: {
      'README.md': '# Widgets\n',
      '.sandbox-ci.yml': CI,
      'src/a.txt': 'a\n',
      'src/old.txt': 'old\n',
      'src/gone.txt': 'gone\n',
      'bin/run': '#!/bin/sh\n',
    },
    project: { source_branches: ['bot/*', 'person/*'], binary_paths: ['new/*.png'] },
  })
})
afterAll(() => world.remove())

beforeEach(() => {
  last += 1
  branch = `bot/change-${last}`
  file = `docs/note-${last}.md`
})

function submit(given: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const file_actions = [{ action: 'create', file_path: file, content: 'A note.\n' }]
  return world.submit({ source_branch: branch, file_actions, ...given })
}

async function mergeRequest(id: string): Promise<Record<string, unknown>> {
  const { detail } = await world.look(id)
  return (await world.server.call('GET', `/merge_requests/${detail.mrIid}`)).json
}

async function head(name: string): Promise<Record<string, unknown> | null> {
  const answer = await world.server.call('GET', `/repository/branches/${encodeURIComponent(name)}`)
  return answer.status === 200 ? (answer.json['commit'] as Record<string, unknown>) : null
}

async function content(ref: string, path: string): Promise<Buffer | null> {
  const answer = await world.server.call('GET', `/repository/files/${encodeURIComponent(path)}/raw?ref=${ref}`)
  return answer.status === 200 ? answer.bytes : null
}

async function mergeRequestsOf(source: string): Promise<readonly Record<string, unknown>[]> {
  return (await world.server.call('GET', `/merge_requests?source_branch=${encodeURIComponent(source)}`)).list
}

/** A person's own commit on top of the branch. */
function pushAsPerson(files: Readonly<Record<string, string>>, name = branch): Promise<string> {
  return world.server.commit(name, files)
}

describe('from submission to merge', () => {
  test('carries every kind of file action into the target, in one commit', async () => {
    const id = await submit({
      auto_merge: true,
      commit_message: 'Rework the sources\n\nAll at once.',
      file_actions: [
        { action: 'create', file_path: 'new/tool.sh', content: 'echo\n', execute_filemode: true },
        { action: 'create', file_path: 'new/logo.png', content: BINARY.toString('base64'), encoding: 'base64' },
        { action: 'update', file_path: 'src/a.txt', content: 'a, updated\n' },
        { action: 'upsert', file_path: 'README.md', content: '# Better widgets\n' },
        { action: 'upsert', file_path: 'src/b.txt', content: 'b\n' },
        { action: 'delete', file_path: 'src/gone.txt' },
        { action: 'move', previous_path: 'src/old.txt', file_path: 'src/moved.txt' },
        { action: 'chmod', file_path: 'bin/run', execute_filemode: true },
      ],
    })
    await world.work(id)
    expect(await head(branch)).toMatchObject({ title: 'Rework the sources' })
    const { json } = await world.server.call('GET', `/repository/compare?from=main&to=${encodeURIComponent(branch)}`)
    expect(json['commits']).toHaveLength(1)

    await world.workToTheEnd(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'completed', resolution: 'merged' })
    const { list } = await world.server.call('GET', '/repository/tree?ref=main&recursive=true&per_page=100')
    const files = list.filter(({ type }) => type === 'blob').map(({ mode, path }) => `${mode} ${path}`)
    expect(files).toEqual(
      expect.arrayContaining([
        '100755 new/tool.sh',
        '100644 new/logo.png',
        '100644 src/b.txt',
        '100644 src/moved.txt',
        '100755 bin/run',
      ]),
    )
    expect(files.join()).not.toMatch(/src\/(gone|old)\.txt/)
    expect(await content('main', 'new/logo.png')).toEqual(BINARY)
    expect(String(await content('main', 'src/a.txt'))).toBe('a, updated\n')
    expect(String(await content('main', 'README.md'))).toBe('# Better widgets\n')
    expect(String(await content('main', 'src/moved.txt'))).toBe('old\n')
    await world.server.pass(1_000)
    expect(await head(branch)).toBeNull()
  })

  test('records what it merged', async () => {
    const id = await submit({ auto_merge: true })
    await world.workToTheEnd(id)
    const { detail } = await world.look(id)
    const merged = await mergeRequest(id)
    expect(detail.mergeCommitSha).toBe(merged['merge_commit_sha'])
    expect(detail.mergedAt?.toISOString()).toBe(merged['merged_at'])
    expect(detail.webUrl).toBe(merged['web_url'])
  })

  test('waits for a person when auto_merge is off, and sees their merge', async () => {
    const id = await submit()
    await world.work(id)
    await world.later(id, 10_000)
    await world.later(id)
    expect((await world.look(id)).item.phase).toBe('active')
    expect((await world.queue.get(id)).presentation.blockers).toMatchObject([{ code: 'waiting_for_merge' }])
    const { detail } = await world.look(id)
    await world.server.call('PUT', `/merge_requests/${detail.mrIid}/merge`, {})
    await world.later(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'completed', resolution: 'merged' })
  })

  test('always leaves a wake-up behind while it is active', async () => {
    const id = await submit()
    await world.work(id)
    const { dimensions, now } = await world.look(id)
    const next = dimensions.find(({ dimension }) => dimension === 'needs_reconcile')
    expect(next?.status).toBe('true')
    expect(next?.pendingUntil?.getTime()).toBeGreaterThan(now.getTime())
  })
})

describe('a submission that comes again', () => {
  test('with other content updates the same merge request, with one commit on the branch', async () => {
    const id = await submit()
    await world.work(id)
    const before = await mergeRequest(id)
    const again = await submit({ file_actions: [{ action: 'create', file_path: file, content: 'Another.\n' }] })
    await world.work(id)
    await world.server.pass(1_000)
    expect(again).toBe(id)
    expect(await mergeRequest(id)).toMatchObject({ iid: before['iid'], state: 'opened' })
    const { json } = await world.server.call('GET', `/repository/compare?from=main&to=${encodeURIComponent(branch)}`)
    expect(json['commits']).toHaveLength(1)
    expect(String(await content(encodeURIComponent(branch), file))).toBe('Another.\n')
  })

  test('with another title corrects the merge request and makes no commit', async () => {
    const id = await submit({ commit_message: 'Fixed' })
    await world.work(id)
    const before = await head(branch)
    await submit({ commit_message: 'Fixed', title: 'A better title', labels: ['docs'] })
    await world.work(id)
    expect(await head(branch)).toMatchObject({ id: before?.['id'] })
    expect(await mergeRequest(id)).toMatchObject({ title: 'A better title', labels: ['docs'] })
  })

  test('keeps the labels that people added', async () => {
    const id = await submit()
    await world.work(id)
    const { detail } = await world.look(id)
    await world.server.call('PUT', `/merge_requests/${detail.mrIid}`, { add_labels: 'hold' })
    await submit({ labels: ['docs'] })
    await world.work(id)
    expect(await mergeRequest(id)).toMatchObject({ labels: ['docs', 'hold'] })
  })

  test.each([true, false])(
    'after the merge is a new life with a new merge request (branch removed: %s)',
    async (remove) => {
      const first = await submit({ auto_merge: true, remove_source_branch: remove })
      await world.workToTheEnd(first)
      const second = await submit({
        auto_merge: true,
        remove_source_branch: remove,
        file_actions: [{ action: 'update', file_path: file, content: 'Second life.\n' }],
      })
      await world.workToTheEnd(second)
      const { item, detail } = await world.look(second)
      expect(item).toMatchObject({ generation: 2, phase: 'completed', resolution: 'merged' })
      expect(detail.mrIid).not.toBe((await world.look(first)).detail.mrIid)
      expect(String(await content('main', file))).toBe('Second life.\n')
    },
  )

  test('while its merge request was merged gets a new one', async () => {
    const id = await submit()
    await world.work(id)
    const { detail } = await world.look(id)
    await world.server.pass(10_000)
    await world.server.call('PUT', `/merge_requests/${detail.mrIid}/merge`, {})
    await submit({ auto_merge: true, file_actions: [{ action: 'upsert', file_path: file, content: 'More.\n' }] })
    await world.workToTheEnd(id)
    const after = await world.look(id)
    expect(after.item).toMatchObject({ phase: 'completed', resolution: 'merged' })
    expect(after.detail.mrIid).not.toBe(detail.mrIid)
    expect(String(await content('main', file))).toBe('More.\n')
  })
})

describe('a change that is no change', () => {
  test('completes as empty and leaves no branch behind', async () => {
    const id = await submit({ file_actions: [{ action: 'upsert', file_path: 'bin/run', content: '#!/bin/sh\n' }] })
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'completed', resolution: 'empty' })
    expect(await head(branch)).toBeNull()
  })

  test('closes its merge request when the target catches up with a rebuild', async () => {
    const id = await submit()
    await world.work(id)
    await pushAsPerson({ [file]: 'A note.\n' }, 'main')
    await world.database.db
      .updateTable('mr_details')
      .set({ rebuild_wanted: true })
      .where('work_item_id', '=', id)
      .execute()
    await world.queue.retry(id, 'tester')
    await world.later(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'completed', resolution: 'empty' })
    expect(await mergeRequest(id)).toMatchObject({ state: 'closed' })
    expect(await head(branch)).toBeNull()
  })
})

describe('a target that moves', () => {
  test('into a conflict leads to a rebuilt branch and a merge', async () => {
    await pushAsPerson({ [file]: 'first\n' }, 'main')
    const id = await submit({
      auto_merge: true,
      file_actions: [{ action: 'update', file_path: file, content: 'wanted\n' }],
    })
    await world.work(id)
    const before = await head(branch)
    await pushAsPerson({ [file]: 'a person was faster\n' }, 'main')
    await world.workToTheEnd(id)
    const { item, detail } = await world.look(id)
    expect(item).toMatchObject({ phase: 'completed', resolution: 'merged' })
    expect(detail.writtenSha).not.toBe(before?.['id'])
    expect(await mergeRequestsOf(branch)).toHaveLength(1)
    expect(String(await content('main', file))).toBe('wanted\n')
  })

  test('is not built upon again while it stands where it was, and not looked at in a loop', async () => {
    const id = await submit()
    await world.work(id)
    const before = await head(branch)
    await world.database.db
      .updateTable('mr_details')
      .set({ rebuild_wanted: true })
      .where('work_item_id', '=', id)
      .execute()
    await world.queue.retry(id, 'tester')
    await world.later(id)
    expect(await head(branch)).toMatchObject({ id: before?.['id'] })
    const { detail, dimensions, now } = await world.look(id)
    expect(detail.rebuildWanted).toBe(false)
    const next = dimensions.find(({ dimension }) => dimension === 'needs_reconcile')
    expect(Number(next?.pendingUntil) - now.getTime()).toBeGreaterThan(60_000)
  })
})

describe("somebody else's work", () => {
  test('on a branch of that name is not touched', async () => {
    const theirs = await pushAsPerson({ [file]: 'theirs\n' })
    const id = await submit()
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'failed', lastError: { code: 'branch_not_owned' } })
    expect(await head(branch)).toMatchObject({ id: theirs })
  })

  test("on top of the service's commit is neither overwritten nor merged", async () => {
    const id = await submit({ auto_merge: true })
    await world.work(id)
    const theirs = await pushAsPerson({ 'docs/theirs.md': 'theirs\n' })
    await world.later(id, 10_000)
    await submit({ auto_merge: true, file_actions: [{ action: 'create', file_path: file, content: 'Newer.\n' }] })
    await world.later(id, 10_000)
    await world.later(id, 10_000)
    expect(await head(branch)).toMatchObject({ id: theirs })
    expect((await world.look(id)).item.phase).toBe('active')
    expect((await world.queue.get(id)).presentation.blockers).toMatchObject([{ code: 'foreign_commits' }])
  })

  test('a merge request closed by a person ends the item; a retry opens it again', async () => {
    const id = await submit()
    await world.work(id)
    const { detail } = await world.look(id)
    await world.server.call('PUT', `/merge_requests/${detail.mrIid}`, { state_event: 'close' })
    await world.later(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'cancelled', resolution: 'closed' })
    await world.queue.retry(id, 'tester')
    await world.work(id)
    expect(await mergeRequest(id)).toMatchObject({ iid: detail.mrIid, state: 'opened' })
    expect((await world.look(id)).item.phase).toBe('active')
  })

  test('a branch deleted by a person ends the item; a retry makes it again', async () => {
    const id = await submit()
    await world.work(id)
    await world.server.call('DELETE', `/repository/branches/${encodeURIComponent(branch)}`)
    await world.later(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'cancelled', resolution: 'closed' })
    await world.queue.retry(id, 'tester')
    await world.work(id)
    expect(await head(branch)).not.toBeNull()
    expect(await mergeRequest(id)).toMatchObject({ state: 'opened' })
  })
})

describe('what the target tree forbids', () => {
  test.each<[string, object, string]>([
    ['a directory', { action: 'delete', file_path: 'src' }, 'not_a_file'],
    ['a path through a file', { action: 'create', file_path: 'README.md/x', content: '' }, 'not_a_file'],
    ['a create of what exists', { action: 'create', file_path: 'README.md', content: 'x' }, 'file_exists'],
    ['an update of what is missing', { action: 'update', file_path: 'nowhere/x', content: 'x' }, 'file_missing'],
    ['a move from nowhere', { action: 'move', file_path: 'y', previous_path: 'nowhere' }, 'file_missing'],
  ])('%s fails the item with %s', async (_title, action, code) => {
    const id = await submit({ file_actions: [action] })
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'failed', lastError: { code } })
    expect(await head(branch)).toBeNull()
  })

  test('a protected source branch fails the item', async () => {
    branch = 'person/protected'
    await pushAsPerson({ [file]: 'theirs\n' })
    await world.server.call('POST', '/protected_branches', { name: branch })
    const id = await submit()
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({
      phase: 'failed',
      lastError: { code: 'source_branch_protected' },
    })
  })

  test('a target that the project does not list fails the item', async () => {
    await pushAsPerson({ [file]: 'x\n' }, 'person/other-target')
    const id = await submit({ target_branch: 'person/other-target' })
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ lastError: { code: 'target_branch_not_allowed' } })
  })

  test('a user that GitLab does not know fails the item', async () => {
    const id = await submit({ reviewers: ['nobody-here'] })
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'failed', lastError: { code: 'user_unknown' } })
  })
})

describe('a cancel', () => {
  test('closes the merge request and deletes the branch', async () => {
    const id = await submit()
    await world.work(id)
    await world.queue.cancel(id, 'tester')
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'cancelled', resolution: 'cancelled_by_caller' })
    expect(await mergeRequest(id)).toMatchObject({ state: 'closed' })
    expect(await head(branch)).toBeNull()
  })

  test("leaves a branch that holds somebody else's commits", async () => {
    const id = await submit()
    await world.work(id)
    const theirs = await pushAsPerson({ 'docs/theirs.md': `${branch}\n` })
    await world.queue.cancel(id, 'tester')
    await world.work(id)
    expect((await world.look(id)).item.phase).toBe('cancelled')
    expect(await head(branch)).toMatchObject({ id: theirs })
  })

  test('that comes after the merge completes the item', async () => {
    const id = await submit()
    await world.work(id)
    const { detail } = await world.look(id)
    await world.server.pass(10_000)
    await world.server.call('PUT', `/merge_requests/${detail.mrIid}/merge`, {})
    await world.queue.cancel(id, 'tester')
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'completed', resolution: 'merged' })
  })

  test('before anything was written ends the item without a trace', async () => {
    const id = await submit()
    await world.queue.cancel(id, 'tester')
    await world.work(id)
    expect((await world.look(id)).item.phase).toBe('cancelled')
    expect(await head(branch)).toBeNull()
  })
})
