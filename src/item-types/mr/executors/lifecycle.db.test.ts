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
    project: { source_branches: ['bot/*', 'person/*'], binary_files: [{ format: 'any', paths: ['new/*.png'] }] },
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
    expect(await world.headOf(branch)).toMatchObject({ title: 'Rework the sources' })
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
    expect(await world.contentOf('main', 'new/logo.png')).toEqual(BINARY)
    expect(String(await world.contentOf('main', 'src/a.txt'))).toBe('a, updated\n')
    expect(String(await world.contentOf('main', 'README.md'))).toBe('# Better widgets\n')
    expect(String(await world.contentOf('main', 'src/moved.txt'))).toBe('old\n')
    await world.server.pass(1_000)
    expect(await world.headOf(branch)).toBeNull()
  })

  test('records what it merged', async () => {
    const id = await submit({ auto_merge: true })
    await world.workToTheEnd(id)
    const { detail } = await world.look(id)
    const merged = await world.mergeRequestOf(id)
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
    const before = await world.mergeRequestOf(id)
    const again = await submit({ file_actions: [{ action: 'create', file_path: file, content: 'Another.\n' }] })
    await world.work(id)
    await world.server.pass(1_000)
    expect(again).toBe(id)
    expect(await world.mergeRequestOf(id)).toMatchObject({ iid: before['iid'], state: 'opened' })
    const { json } = await world.server.call('GET', `/repository/compare?from=main&to=${encodeURIComponent(branch)}`)
    expect(json['commits']).toHaveLength(1)
    expect(String(await world.contentOf(branch, file))).toBe('Another.\n')
  })

  test('with another title corrects the merge request and makes no commit', async () => {
    const id = await submit({ commit_message: 'Fixed' })
    await world.work(id)
    const before = await world.headOf(branch)
    await submit({ commit_message: 'Fixed', title: 'A better title', labels: ['docs'] })
    await world.work(id)
    expect(await world.headOf(branch)).toMatchObject({ id: before?.['id'] })
    expect(await world.mergeRequestOf(id)).toMatchObject({ title: 'A better title', labels: ['docs'] })
  })

  test('corrects nothing that only GitLab has put in order, such as blanks at the ends', async () => {
    const texts = { title: ' A note ', description: 'Why.\n\n', commit_message: 'Fixed' }
    const id = await submit(texts)
    await world.work(id)
    await submit({ ...texts, auto_merge: true })
    await world.work(id)
    expect(await world.mergeRequestOf(id)).toMatchObject({ title: 'A note', description: 'Why.' })
    expect(world.server.writes({ kind: 'update', branch })).toEqual([])
  })

  test('keeps a label that somebody adds between its look and its write', async () => {
    const id = await submit()
    await world.work(id)
    const { detail } = await world.look(id)
    world.alter('updateMergeRequest', async (given) => {
      await world.server.call('PUT', `/merge_requests/${detail.mrIid}`, { add_labels: 'hold' })
      return given
    })
    await submit({ labels: ['docs'] })
    await world.work(id)
    expect((await world.mergeRequestOf(id))['labels']).toEqual(expect.arrayContaining(['docs', 'hold']))
  })

  test('keeps the labels that people added', async () => {
    const id = await submit()
    await world.work(id)
    const { detail } = await world.look(id)
    await world.server.call('PUT', `/merge_requests/${detail.mrIid}`, { add_labels: 'hold' })
    await submit({ labels: ['docs'] })
    await world.work(id)
    expect(await world.mergeRequestOf(id)).toMatchObject({ labels: ['docs', 'hold'] })
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
      expect(String(await world.contentOf('main', file))).toBe('Second life.\n')
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
    expect(String(await world.contentOf('main', file))).toBe('More.\n')
  })
})

describe('a change that is no change', () => {
  test('completes as empty and leaves no branch behind', async () => {
    const id = await submit({ file_actions: [{ action: 'upsert', file_path: 'bin/run', content: '#!/bin/sh\n' }] })
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'completed', resolution: 'empty' })
    expect(await world.headOf(branch)).toBeNull()
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
    expect(await world.mergeRequestOf(id)).toMatchObject({ state: 'closed' })
    expect(await world.headOf(branch)).toBeNull()
  })
})

describe('a cancel', () => {
  test('closes the merge request and deletes the branch', async () => {
    const id = await submit()
    await world.work(id)
    await world.queue.cancel(id, 'tester')
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'cancelled', resolution: 'cancelled_by_caller' })
    expect(await world.mergeRequestOf(id)).toMatchObject({ state: 'closed' })
    expect(await world.headOf(branch)).toBeNull()
  })

  test("leaves a branch that holds somebody else's commits", async () => {
    const id = await submit()
    await world.work(id)
    const theirs = await pushAsPerson({ 'docs/theirs.md': `${branch}\n` })
    await world.queue.cancel(id, 'tester')
    await world.work(id)
    expect((await world.look(id)).item.phase).toBe('cancelled')
    expect(await world.headOf(branch)).toMatchObject({ id: theirs })
  })

  test('leaves what somebody pushes while it is under way', async () => {
    const id = await submit()
    await world.work(id)
    await world.queue.cancel(id, 'tester')
    let theirs: string | null = null
    world.alter('updateMergeRequest', async (given) => {
      theirs = await pushAsPerson({ 'docs/theirs.md': `${branch}\n` })
      return given
    })
    await world.work(id)
    expect((await world.look(id)).item.phase).toBe('cancelled')
    expect(await world.headOf(branch)).toMatchObject({ id: theirs })
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
    expect(await world.headOf(branch)).toBeNull()
  })
})
