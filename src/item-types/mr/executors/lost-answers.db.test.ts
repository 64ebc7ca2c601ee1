import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createMrWorld, type MrWorld } from '../../../../test/support/mr-world.ts'
import { errorOfAnswer } from '../../../gitlab/errors.ts'

const CI = 'stages: [test]\njobs:\n  unit: { stage: test, seconds: 1 }\n'
const CALL = { method: 'PUT', endpoint: 'projects/1' }

let world: MrWorld
let branch: string
let file: string
let last = 0

beforeAll(async () => {
  world = await createMrWorld({ files: { 'README.md': '# Widgets\n', '.sandbox-ci.yml': CI } })
})
afterAll(() => world.remove())

beforeEach(() => {
  last += 1
  branch = `bot/fault-${last}`
  file = `docs/fault-${last}.md`
})

function submit(given: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const file_actions = [{ action: 'create', file_path: file, content: 'A note.\n' }]
  return world.submit({ source_branch: branch, file_actions, ...given })
}

/** How often this was really done to the branch or its merge request. */
function done(kind: string): number {
  return world.server.writes({ kind, branch }).length
}

describe('a commit whose answer was lost', () => {
  test('is adopted also when the process was killed before anything was recorded', async () => {
    const id = await submit()
    world.loseAnswer('createCommit')
    await world.work(id)
    expect((await world.look(id)).detail.writtenSha).toBeNull()
    await world.later(id)
    const { json } = await world.server.call('GET', `/repository/branches/${encodeURIComponent(branch)}`)
    expect((await world.look(id)).detail.writtenSha).toBe((json['commit'] as { id: string }).id)
  })

  test('is replaced when the caller wants something else by then', async () => {
    const id = await submit()
    world.loseAnswer('createCommit')
    await world.work(id)
    await submit({ file_actions: [{ action: 'create', file_path: file, content: 'Changed my mind.\n' }] })
    await world.later(id)
    const { item, detail } = await world.look(id)
    expect(item).toMatchObject({ phase: 'active', lastError: null })
    expect(detail.mrIid).not.toBeNull()
    const path = `/repository/files/${encodeURIComponent(file)}/raw?ref=${encodeURIComponent(branch)}`
    expect((await world.server.call('GET', path)).text).toBe('Changed my mind.\n')
  })

  test('is not adopted after a person amended it, although they kept its message', async () => {
    const id = await submit()
    world.loseAnswer('createCommit')
    await world.work(id)
    const { json } = await world.server.call('GET', `/repository/branches/${encodeURIComponent(branch)}`)
    const { message } = json['commit'] as { message: string }
    const amendment = {
      branch,
      start_branch: 'main',
      force: true,
      commit_message: message,
      actions: [
        { action: 'create', file_path: file, content: 'A note.\n' },
        { action: 'create', file_path: 'docs/smuggled.md', content: 'x' },
      ],
    }
    const amended = await world.server.call('POST', '/repository/commits', amendment, 'developer')
    expect(amended.status).toBe(201)
    await world.later(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'failed', lastError: { code: 'branch_not_owned' } })
  })
})

describe('an answer of GitLab', () => {
  test('that it is overloaded spends no attempt and waits as long as it asks', async () => {
    const id = await submit()
    world.refuse('createCommit', errorOfAnswer(CALL, { status: 429, text: 'Retry later', retryAfter: '120' }))
    await world.work(id)
    const { item, now } = await world.look(id)
    expect(item).toMatchObject({ phase: 'active', attempts: 0, transientFailures: 1 })
    expect(Number(item.retryAt) - now.getTime()).toBeGreaterThan(100_000)
  })

  test('that the branch of a new merge request is not there yet leads to another try', async () => {
    const id = await submit()
    const text = '{"message":{"source_branch":["does not exist"]}}'
    const refused = errorOfAnswer(CALL, { status: 400, text, retryAfter: null })
    world.refuse('createMergeRequest', refused.renamed('source_branch_missing', 'not yet', { failure: 'transient' }))
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'active', attempts: 0 })
    await world.later(id)
    expect((await world.look(id)).detail.mrIid).not.toBeNull()
  })

  test('that another merge request exists leads to that one', async () => {
    const id = await submit()
    world.loseAnswer('createMergeRequest')
    await world.work(id)
    // The list is a cached view: it may not show yet what was made a moment ago.
    world.answer('findOpenMergeRequest', null)
    await world.later(id)
    const { detail } = await world.look(id)
    expect(detail.mrIid).not.toBeNull()
    expect(done('open')).toBe(1)
  })

  test('that it does not merge is no failure', async () => {
    const id = await submit({ auto_merge: true })
    world.answer('mergeMergeRequest', { merged: false, status: 405, message: '405 Method Not Allowed' })
    for (let round = 0; round < 10 && (await world.look(id)).detail.mergeRefusal === null; round += 1) {
      await world.later(id)
    }
    const { item, detail } = await world.look(id)
    expect(item).toMatchObject({ phase: 'active', attempts: 0, lastError: null })
    expect(detail.mergeRefusal).toBe('405 405 Method Not Allowed')
    expect((await world.queue.get(id)).presentation.blockers).toMatchObject([{ code: 'merge_refused' }])
    await world.workToTheEnd(id)
    expect((await world.look(id)).item.resolution).toBe('merged')
  })
})
