import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { GitLabMethod } from '../../../../test/support/gitlab-faults.ts'
import { createMrWorld, type MrWorld } from '../../../../test/support/mr-world.ts'
import { networkError } from '../../../gitlab/errors.ts'

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

async function statusNotes(id: string): Promise<readonly string[]> {
  const { detail } = await world.look(id)
  const { list } = await world.server.call('GET', `/merge_requests/${detail.mrIid}/notes?activity_filter=only_comments`)
  return list.filter(({ system }) => system !== true).map(({ body }) => String(body))
}

async function workUntil(id: string, code: string): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    if ((await world.look(id)).detail.waitsFor?.code === code) return
    await world.later(id)
  }
  throw new Error(`it waits for ${JSON.stringify((await world.look(id)).detail.waitsFor)}`)
}

type Fault =
  | 'is refused'
  | 'is done but its answer is lost'
  | 'is done but answered only after the lease was lost'
  | 'is stopped before it began'
const FAULTS: readonly Fault[] = [
  'is refused',
  'is done but its answer is lost',
  'is done but answered only after the lease was lost',
  'is stopped before it began',
]

function plan(fault: Fault, method: GitLabMethod): void {
  if (fault === 'is refused') world.refuse(method, networkError(CALL, 'ECONNRESET'))
  else if (fault === 'is done but its answer is lost') world.loseAnswer(method)
  else if (fault === 'is stopped before it began') world.stopBefore(method)
  else world.answerLate(method)
}

interface WriteCase {
  readonly name: string
  readonly method: GitLabMethod
  /** What the sandbox has to have seen exactly once; null where doing it again changes nothing. */
  readonly kind: string | null
  readonly submission?: Readonly<Record<string, unknown>>
  /** Brings the item to the point before the write. */
  readonly before?: (id: string) => Promise<void>
  readonly after: (id: string) => Promise<void>
}

async function isWaiting(id: string): Promise<void> {
  const { item, detail } = await world.look(id)
  expect(item).toMatchObject({ phase: 'active', attempts: 0, lastError: null })
  expect(detail.mrIid).not.toBeNull()
  expect([done('push'), done('open')]).toEqual([1, 1])
}

async function isCancelled(id: string): Promise<void> {
  expect((await world.look(id)).item).toMatchObject({ phase: 'cancelled', resolution: 'cancelled_by_caller' })
  const gone = await world.server.call('GET', `/repository/branches/${encodeURIComponent(branch)}`)
  expect(gone.status).toBe(404)
  expect([done('close'), done('delete_branch')]).toEqual([1, 1])
}

async function cancel(id: string): Promise<void> {
  await world.work(id)
  await world.queue.cancel(id, 'tester')
}

const WRITES: readonly WriteCase[] = [
  { name: 'a commit', method: 'createCommit', kind: 'push', after: isWaiting },
  { name: 'a merge request', method: 'createMergeRequest', kind: 'open', after: isWaiting },
  {
    name: 'a correction',
    method: 'updateMergeRequest',
    kind: 'update',
    submission: { commit_message: 'Fixed' },
    async before(id) {
      await world.work(id)
      await submit({ commit_message: 'Fixed', title: 'Better' })
    },
    async after(id) {
      const { detail } = await world.look(id)
      const { json } = await world.server.call('GET', `/merge_requests/${detail.mrIid}`)
      expect(json).toMatchObject({ title: 'Better', state: 'opened' })
      expect(done('push')).toBe(1)
    },
  },
  {
    name: 'a merge',
    method: 'mergeMergeRequest',
    kind: 'merge',
    submission: { auto_merge: true },
    async after(id) {
      await world.workToTheEnd(id)
      const { item, detail } = await world.look(id)
      expect(item).toMatchObject({ phase: 'completed', resolution: 'merged' })
      expect(detail.mergeCommitSha).toMatch(/^[0-9a-f]{40}$/)
    },
  },
  { name: 'a close', method: 'updateMergeRequest', kind: 'close', before: cancel, after: isCancelled },
  { name: 'the end of a branch', method: 'deleteBranch', kind: 'delete_branch', before: cancel, after: isCancelled },
  {
    name: 'a note',
    method: 'createNote',
    kind: 'note',
    async after(id) {
      await workUntil(id, 'waiting_for_merge')
      await world.later(id)
      expect(await statusNotes(id)).toHaveLength(1)
    },
  },
  {
    name: 'an edit of the note',
    method: 'updateNote',
    kind: null,
    async before(id) {
      await world.work(id)
      await workUntil(id, 'waiting_for_merge')
      await world.later(id)
      const edits = done('edit_note')
      for (let round = 0; round < 5 && done('edit_note') === edits; round += 1) await world.later(id)
      const { detail } = await world.look(id)
      await world.server.call('PUT', `/merge_requests/${detail.mrIid}`, { title: 'Draft: wait' })
    },
    async after(id) {
      await workUntil(id, 'draft')
      await world.later(id)
      const [only, ...more] = await statusNotes(id)
      expect(more).toEqual([])
      expect(only).toContain('it is marked as a draft')
    },
  },
]

describe.each(FAULTS)('a write that %s', (fault) => {
  test.each(WRITES)('$name is made once all the same', async ({ method, kind, submission, before, after }) => {
    const id = await submit(submission)
    await before?.(id)
    const already = kind === null ? 0 : done(kind)
    plan(fault, method)
    await world.work(id)
    await world.later(id)
    await world.later(id)
    await after(id)
    if (kind !== null) expect(done(kind) - already).toBe(1)
  })
})

describe('a call that arrives after its own repetition', () => {
  test.each<[string, GitLabMethod, string, object]>([
    ['a commit', 'createCommit', 'push', {}],
    ['a merge request', 'createMergeRequest', 'open', {}],
    ['a merge', 'mergeMergeRequest', 'merge', { auto_merge: true }],
  ])('%s changes nothing any more', async (_name, method, kind, given) => {
    const id = await submit({ remove_source_branch: false, ...given })
    world.hold(method)
    const isMerge = kind === 'merge'
    for (let round = 0; round < 20 && (isMerge || round < 2); round += 1) {
      if ((await world.look(id)).item.phase !== 'active') break
      await world.later(id)
    }
    expect(done(kind)).toBe(1)
    const before = await world.look(id)
    await world.landHeld().catch(() => {})
    await world.later(id)
    const { item, detail } = await world.look(id)
    expect(done(kind)).toBe(1)
    expect(item).toMatchObject({ phase: before.item.phase, lastError: null })
    expect(detail).toMatchObject({ mrIid: before.detail.mrIid, writtenSha: before.detail.writtenSha })
  })

  test('a commit over a commit of the service comes to be the one that is known', async () => {
    const id = await submit()
    await world.work(id)
    await submit({ file_actions: [{ action: 'create', file_path: file, content: 'Another.\n' }] })
    world.hold('createCommit')
    await world.work(id)
    await world.later(id)
    await world.landHeld()
    await world.later(id)
    await world.later(id)
    const { item, detail } = await world.look(id)
    expect(item).toMatchObject({ phase: 'active', lastError: null })
    const { json } = await world.server.call('GET', `/repository/branches/${encodeURIComponent(branch)}`)
    expect(detail.writtenSha).toBe((json['commit'] as { id: string }).id)
  })
})
