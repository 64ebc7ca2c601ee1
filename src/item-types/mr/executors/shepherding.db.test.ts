import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createMrWorld, type MrWorld } from '../../../../test/support/mr-world.ts'

const CI = 'stages: [test]\njobs:\n  unit: { stage: test, seconds: 1 }\n'

let world: MrWorld
let branch: string
let file: string
let last = 0

beforeAll(async () => {
  world = await createMrWorld({
    files: { 'README.md': '# Widgets\n', '.sandbox-ci.yml': CI, 'deploy/app.yaml': 'replicas: 1\n' },
    project: {
      review: { paths: ['deploy/**'], users: ['developer'] },
      expires_after: '30d',
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
  const file_actions = [{ action: 'upsert', file_path: file, content: 'A note.\n' }]
  return world.submit({ source_branch: branch, file_actions, ...given })
}

async function of(id: string, what = ''): Promise<Record<string, unknown>> {
  const { detail } = await world.look(id)
  return (await world.server.call('GET', `/merge_requests/${detail.mrIid}${what}`)).json
}

async function notes(id: string): Promise<readonly string[]> {
  const { detail } = await world.look(id)
  const { list } = await world.server.call('GET', `/merge_requests/${detail.mrIid}/notes?activity_filter=only_comments`)
  return list.filter(({ system }) => system !== true).map(({ body }) => String(body))
}

/** Works until it waits for this. */
async function workUntil(id: string, code: string): Promise<void> {
  await world.work(id)
  for (let round = 0; round < 20; round += 1) {
    if ((await world.look(id)).detail.waitsFor?.code === code) return
    await world.later(id)
  }
  throw new Error(`it waits for ${JSON.stringify((await world.look(id)).detail.waitsFor)}`)
}

async function setLabels(id: string, labels: string): Promise<void> {
  const { detail } = await world.look(id)
  await world.server.call('PUT', `/merge_requests/${detail.mrIid}`, { labels })
}

describe('the note on the merge request', () => {
  test('is one, says for whom and what it waits for, and is edited in place', async () => {
    const id = await submit()
    await workUntil(id, 'waiting_for_merge')
    await world.later(id)
    const [first, ...more] = await notes(id)
    expect(more).toEqual([])
    expect(first).toContain('on behalf of `tester`')
    expect(first).toContain('auto_merge is off')

    const { detail } = await world.look(id)
    await world.server.call('PUT', `/merge_requests/${detail.mrIid}`, { title: 'Draft: wait' })
    await workUntil(id, 'draft')
    await world.later(id)
    const [second, ...others] = await notes(id)
    expect(others).toEqual([])
    expect(second).toContain('it is marked as a draft')
  })

  test('is written anew when somebody has deleted it', async () => {
    const id = await submit()
    await workUntil(id, 'waiting_for_merge')
    await world.later(id)
    const { detail } = await world.look(id)
    await world.server.call('DELETE', `/merge_requests/${detail.mrIid}/notes/${detail.noteId}`)
    await world.server.call('PUT', `/merge_requests/${detail.mrIid}`, { title: 'Draft: wait' })
    await workUntil(id, 'draft')
    await world.later(id)
    expect(await notes(id)).toHaveLength(1)
  })

  test('is not written twice when its answer is lost', async () => {
    const id = await submit()
    world.loseAnswer('createNote')
    await workUntil(id, 'waiting_for_merge')
    await world.later(id)
    await world.later(id)
    expect(await notes(id)).toHaveLength(1)
  })
})

describe('a change that has become empty', () => {
  test('is closed with a word, and completed', async () => {
    const id = await submit()
    await workUntil(id, 'waiting_for_merge')
    await world.server.commit('main', { [file]: 'A note.\n' })
    await world.workToTheEnd(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'completed', resolution: 'empty' })
    expect(await of(id)).toMatchObject({ state: 'closed' })
    expect((await notes(id)).join()).toContain('nothing left to merge')
    const gone = await world.server.call('GET', `/repository/branches/${encodeURIComponent(branch)}`)
    expect(gone.status).toBe(404)
  })

  test('is not taken for empty while anything is left, or while GitLab cannot merge it', async () => {
    const id = await submit({
      file_actions: [
        { action: 'upsert', file_path: file, content: 'A note.\n' },
        { action: 'upsert', file_path: `${file}.too`, content: 'Another.\n' },
      ],
    })
    await workUntil(id, 'waiting_for_merge')
    await world.server.commit('main', { [file]: 'A note.\n' })
    world.answer('getMergeRef', null)
    await world.later(id)
    await world.later(id)
    expect((await world.look(id)).item.phase).toBe('active')
  })
})

describe('what holds a merge back', () => {
  test('a label that a person sets, until it is off', async () => {
    const id = await submit({ auto_merge: true })
    await world.work(id)
    await setLabels(id, 'do-not-merge')
    await workUntil(id, 'on_hold')
    await world.later(id, 60_000)
    expect((await world.look(id)).item.phase).toBe('active')
    await setLabels(id, '')
    await world.workToTheEnd(id)
    expect((await world.look(id)).item.resolution).toBe('merged')
  })

  test('a named person, who has to approve the very commit', async () => {
    const file_actions = [{ action: 'upsert', file_path: 'deploy/app.yaml', content: 'replicas: 2\n' }]
    const id = await submit({ auto_merge: true, file_actions })
    await workUntil(id, 'waiting_for_review')
    expect(await of(id)).toMatchObject({ draft: true, title: 'Draft: Add a note' })
    await world.server.pass(2_000)
    const { detail } = await world.look(id)
    await world.server.call('POST', `/merge_requests/${detail.mrIid}/approve`, undefined, 'developer')
    await world.workToTheEnd(id)
    expect((await world.look(id)).item.resolution).toBe('merged')
    expect(await of(id)).toMatchObject({ draft: false, title: 'Add a note' })
  })
})

describe('the time that a merge request may stay open', () => {
  test('is the least of what the submission and the project say', async () => {
    const short = await submit({ expires_after: '1h' })
    await world.work(short)
    const { detail, item } = await world.look(short)
    const lifeMs = (detail.expiresAt?.getTime() ?? 0) - item.createdAt.getTime()
    expect(Math.round(lifeMs / 60_000)).toBe(60)
    branch = `${branch}-long`
    const long = await submit({ expires_after: '365d' })
    await world.work(long)
    const days = ((await world.look(long)).detail.expiresAt?.getTime() ?? 0) - item.createdAt.getTime()
    expect(Math.round(days / 86_400_000)).toBe(30)
  })

  test('once over, closes it with a word; a retry gives it another life', async () => {
    const id = await submit({ expires_after: '1h' })
    await workUntil(id, 'waiting_for_merge')
    await world.database.db
      .updateTable('mr_details')
      .set({ expires_at: new Date(Date.now() - 1_000) })
      .where('work_item_id', '=', id)
      .execute()
    await world.later(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'cancelled', resolution: 'expired' })
    expect(await of(id)).toMatchObject({ state: 'closed' })
    expect((await notes(id)).join()).toContain('in the time that was set')

    await world.queue.retry(id, 'tester')
    await workUntil(id, 'waiting_for_merge')
    const { item, detail } = await world.look(id)
    expect(item.phase).toBe('active')
    expect(detail.expiresAt?.getTime()).toBeGreaterThan(Date.now())
    expect(await of(id)).toMatchObject({ state: 'opened' })
  })
})
