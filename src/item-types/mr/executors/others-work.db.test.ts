import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { moveBranch } from '../../../../sandbox/gitlab/git/write.ts'
import { recordPush } from '../../../../sandbox/gitlab/pushes.ts'
import { createMrWorld, type MrWorld } from '../../../../test/support/mr-world.ts'
import { errorOfAnswer } from '../../../gitlab/errors.ts'

const CI = 'stages: [test]\njobs:\n  unit: { stage: test, seconds: 1 }\n'

let world: MrWorld
let branch: string
let file: string
let last = 0

beforeAll(async () => {
  world = await createMrWorld({
    files: {
      'README.md': '# Widgets\n',
      '.sandbox-ci.yml': CI,
    },
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

async function mergeRequestsOf(source: string): Promise<readonly Record<string, unknown>[]> {
  return (await world.server.call('GET', `/merge_requests?source_branch=${encodeURIComponent(source)}`)).list
}

/** A person's own commit on top of the branch. */
function pushAsPerson(files: Readonly<Record<string, string>>, name = branch): Promise<string> {
  return world.server.commit(name, files)
}

/** A person's forced push of a commit that is there already. */
async function resetBranch(after: string): Promise<void> {
  const { context, project, users } = world.server
  const before = String((await world.headOf(branch))?.['id'])
  await moveBranch(context.git(project), branch, before, after)
  recordPush(context, { project, branch, before, after, userId: users.developer.id })
}

/** What ensure_mr left to say. */
async function noteOf(id: string): Promise<string | null> {
  const { dimensions } = await world.look(id)
  return dimensions.find(({ dimension, status }) => dimension === 'needs_mr' && status === 'false')?.note ?? null
}

async function rebuild(id: string): Promise<void> {
  await world.database.db
    .updateTable('mr_details')
    .set({ rebuild_wanted: true })
    .where('work_item_id', '=', id)
    .execute()
  await world.queue.retry(id, 'tester')
  await world.later(id)
}

describe('a target that moves', () => {
  test('into a conflict leads to a rebuilt branch and a merge', async () => {
    await pushAsPerson({ [file]: 'first\n' }, 'main')
    const id = await submit({
      auto_merge: true,
      file_actions: [{ action: 'update', file_path: file, content: 'wanted\n' }],
    })
    await world.work(id)
    const before = await world.headOf(branch)
    await pushAsPerson({ [file]: 'a person was faster\n' }, 'main')
    await world.workToTheEnd(id)
    const { item, detail } = await world.look(id)
    expect(item).toMatchObject({ phase: 'completed', resolution: 'merged' })
    expect(detail.writtenSha).not.toBe(before?.['id'])
    expect(await mergeRequestsOf(branch)).toHaveLength(1)
    expect(String(await world.contentOf('main', file))).toBe('wanted\n')
  })

  test('and in which others changed the same file: the rebuild takes that back, and says so', async () => {
    await pushAsPerson({ [file]: 'first\n' }, 'main')
    const other = `${file}.too`
    const id = await submit({
      file_actions: [
        { action: 'upsert', file_path: file, content: 'wanted\n' },
        { action: 'upsert', file_path: other, content: 'wanted, too\n' },
      ],
    })
    await world.work(id)
    await pushAsPerson({ [file]: 'a person was faster\n' }, 'main')
    for (let round = 0; round < 10 && (await noteOf(id)) === null; round += 1) await world.later(id)
    expect(await noteOf(id)).toBe(`the rebuild takes back what others have changed in the target meanwhile: ${file}`)
    expect(String(await world.contentOf(branch, file))).toBe('wanted\n')
  })

  test('and in which others changed other files: the rebuild takes nothing back', async () => {
    const id = await submit()
    await world.work(id)
    await pushAsPerson({ [`${file}.other`]: 'x\n' }, 'main')
    await rebuild(id)
    expect(await noteOf(id)).toBeNull()
  })

  test('is not built upon again while it stands where it was, and not looked at in a loop', async () => {
    const id = await submit()
    await world.work(id)
    const before = await world.headOf(branch)
    await rebuild(id)
    expect(await world.headOf(branch)).toMatchObject({ id: before?.['id'] })
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
    expect(await world.headOf(branch)).toMatchObject({ id: theirs })
  })

  test("on top of the service's commit is neither overwritten nor merged", async () => {
    const id = await submit({ auto_merge: true })
    await world.work(id)
    const theirs = await pushAsPerson({ 'docs/theirs.md': 'theirs\n' })
    await world.later(id, 10_000)
    await submit({ auto_merge: true, file_actions: [{ action: 'create', file_path: file, content: 'Newer.\n' }] })
    await world.later(id, 10_000)
    await world.later(id, 10_000)
    expect(await world.headOf(branch)).toMatchObject({ id: theirs })
    expect((await world.look(id)).item.phase).toBe('active')
    expect((await world.queue.get(id)).presentation.blockers).toMatchObject([{ code: 'foreign_commits' }])
  })

  test("on top of the service's commit is still looked after: its merge is seen", async () => {
    const id = await submit()
    await world.work(id)
    await pushAsPerson({ 'docs/theirs-too.md': `${branch}\n` })
    await submit({ title: 'Better' })
    await world.later(id, 10_000)
    expect(await world.mergeRequestOf(id)).toMatchObject({ title: 'Better' })
    const { detail } = await world.look(id)
    expect((await world.server.call('PUT', `/merge_requests/${detail.mrIid}/merge`, {})).status).toBe(200)
    await world.later(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'completed', resolution: 'merged' })
  })

  test("on top of the service's commit is written over when a later submission forces it", async () => {
    const id = await submit()
    await world.work(id)
    const { iid } = await world.mergeRequestOf(id)
    const theirs = await pushAsPerson({ 'docs/theirs.md': `${branch}\n` })
    await submit({ force_overwrite: true })
    await world.later(id)
    await world.later(id)
    const { detail } = await world.look(id)
    expect(detail).toMatchObject({ overwrittenSha: theirs, mrIid: iid })
    expect(await world.headOf(branch)).toMatchObject({ id: detail.writtenSha })
    expect(await world.mergeRequestOf(id)).toMatchObject({ state: 'opened', sha: detail.writtenSha })
  })

  test('on top of a commit that is not wanted any more says so, and what is wanted comes once it is gone', async () => {
    const id = await submit({ auto_merge: true })
    await world.work(id)
    const ours = (await world.look(id)).detail.writtenSha
    await pushAsPerson({ 'docs/theirs.md': `${branch}\n` })
    await submit({ auto_merge: true, file_actions: [{ action: 'create', file_path: file, content: 'Newer.\n' }] })
    await world.later(id)
    expect(await noteOf(id)).toContain('what was submitted last is not written')
    expect((await world.look(id)).detail.writtenSha).toBeNull()
    // They take their commits back: the head is ours again, with the files that nobody wants any more.
    await resetBranch(String(ours))
    await world.workToTheEnd(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'completed', resolution: 'merged' })
    expect(String(await world.contentOf('main', file))).toBe('Newer.\n')
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
    expect(await world.mergeRequestOf(id)).toMatchObject({ iid: detail.mrIid, state: 'opened' })
    expect((await world.look(id)).item.phase).toBe('active')
  })

  test('a merge request that GitLab does not open again gets a successor on a retry', async () => {
    const id = await submit()
    await world.work(id)
    const { detail } = await world.look(id)
    await world.server.call('PUT', `/merge_requests/${detail.mrIid}`, { state_event: 'close' })
    await world.later(id)
    await world.queue.retry(id, 'tester')
    const call = { method: 'PUT', endpoint: 'merge_requests/1' }
    world.refuse('updateMergeRequest', errorOfAnswer(call, { status: 422, text: '', retryAfter: null }))
    await world.work(id)
    const after = await world.look(id)
    expect(after.item).toMatchObject({ phase: 'active', lastError: null })
    expect(after.detail.mrIid).not.toBe(detail.mrIid)
    expect(await world.mergeRequestOf(id)).toMatchObject({ state: 'opened' })
  })

  test('a branch deleted by a person ends the item; a retry makes it again', async () => {
    const id = await submit()
    await world.work(id)
    await world.server.call('DELETE', `/repository/branches/${encodeURIComponent(branch)}`)
    await world.later(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'cancelled', resolution: 'closed' })
    await world.queue.retry(id, 'tester')
    await world.work(id)
    expect(await world.headOf(branch)).not.toBeNull()
    expect(await world.mergeRequestOf(id)).toMatchObject({ state: 'opened' })
  })
})
