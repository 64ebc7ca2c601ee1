import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { createDetails, type Details } from '../../../test/support/details.ts'
import { mrSubmission } from '../../../test/support/mr-item.ts'
import type { MrDetail } from './detail.ts'
import type { MrSubmission } from './schema.ts'
import { findItemsByPointers, isOwnCommit, mrDetails, readContent } from './store.ts'

const SHA = 'a'.repeat(40)

let database: TestDatabase
let details: Details<MrSubmission, MrDetail>
let projectId: number
let last = 0

beforeAll(async () => {
  database = await createTestDatabase()
  details = createDetails(
    database.db,
    'mr',
    mrDetails((submission) => submission),
  )
})
afterAll(() => database.drop())
beforeEach(() => {
  last += 1
  projectId = 1_000 + last
})

async function insert(
  submission: MrSubmission,
  observed: Partial<MrDetail> = {},
  phase: 'active' | 'completed' = 'active',
): Promise<string> {
  const id = await details.insert(submission)
  await details.save(id, { ...(await details.read(id)), projectId, ...observed })
  if (phase !== 'active') {
    const ended = { phase, resolution: 'merged', actionable: false }
    await database.db.updateTable('work_items').set(ended).where('id', '=', id).execute()
  }
  return id
}

describe('a submission', () => {
  test('comes back as it was stored', async () => {
    const submission = mrSubmission({
      target_branch: 'next',
      description: 'With "quotes", a \\ and ünïcödé 🎉\n',
      labels: ['a b', "c'd", '{e}', '"'],
      reviewers: ['ann'],
      file_actions: [
        { action: 'create', file_path: 'a', content: '', execute_filemode: true },
        { action: 'move', file_path: 'b', previous_path: 'c' },
        { action: 'update', file_path: 'd', content: 'AA==', encoding: 'base64' },
      ],
    })
    expect(await readContent(database.db, await insert(submission))).toEqual(submission)
  })

  test('without a target comes back without one', async () => {
    expect(await readContent(database.db, await insert(mrSubmission()))).toEqual(mrSubmission())
  })

  test('of megabytes comes back whole', async () => {
    const content = 'ü'.repeat(1_000_000)
    const submission = mrSubmission({ file_actions: [{ action: 'create', file_path: 'big', content }] })
    expect((await readContent(database.db, await insert(submission))).file_actions).toEqual(submission.file_actions)
  })

  test('that changes keeps what the service observed', async () => {
    const id = await insert(mrSubmission(), { mrIid: 3, writtenSha: SHA, unsettledLooks: 2 })
    await details.update(id, mrSubmission({ title: 'Other' }))
    expect(await details.read(id)).toMatchObject({
      title: 'Other',
      mrIid: 3,
      writtenSha: SHA,
      unsettledLooks: 2,
    })
  })
})

describe('what the service observed', () => {
  test('comes back as it was saved', async () => {
    const id = await insert(mrSubmission())
    const detail: MrDetail = {
      ...(await details.read(id)),
      resolvedTarget: 'main',
      mrIid: 12,
      webUrl: 'https://x/12',
      writtenSha: SHA,
      writtenHash: 'b'.repeat(64),
      rebuildWanted: true,
      headSha: SHA,
      headPipelineId: 9_007_199_254_740_991,
      headPipelineStatus: 'running',
      detailedMergeStatus: 'a_status_of_tomorrow',
      mergeRefusal: '405 no',
      unsettledLooks: 4,
      mergeCommitSha: SHA,
      mergedAt: new Date('2026-03-02T12:00:00.123Z'),
    }
    await details.save(id, detail)
    expect(await details.read(id)).toEqual(detail)
  })

  test('never undoes what the caller changed meanwhile', async () => {
    const id = await insert(mrSubmission())
    const before = await details.read(id)
    await details.update(id, mrSubmission({ title: 'Newer' }))
    await details.save(id, { ...before, mrIid: 5 })
    expect(await details.read(id)).toMatchObject({ title: 'Newer', mrIid: 5 })
  })

  test('of an item without a detail is an error that names it', async () => {
    const id = await insert(mrSubmission())
    await database.db.deleteFrom('mr_details').where('work_item_id', '=', id).execute()
    await expect(details.read(id)).rejects.toThrow(id)
    await expect(readContent(database.db, id)).rejects.toThrow(id)
  })
})

test("a commit is the service's own on the branch where it was written, in any life", async () => {
  await insert(mrSubmission(), { writtenSha: SHA }, 'completed')
  expect(await isOwnCommit(database.db, projectId, 'bot/change', SHA)).toBe(true)
  expect(await isOwnCommit(database.db, projectId, 'bot/other', SHA)).toBe(false)
  expect(await isOwnCommit(database.db, projectId + 1, 'bot/change', SHA)).toBe(false)
  expect(await isOwnCommit(database.db, projectId, 'bot/change', 'b'.repeat(40))).toBe(false)
})

describe('an event', () => {
  const find = async (pointers: object) => (await findItemsByPointers(database.db, [{ projectId, ...pointers }]))[0]

  test('finds the active items that it points at, by each pointer', async () => {
    const id = await insert(mrSubmission(), { mrIid: 3, headPipelineId: 50, resolvedTarget: 'main' })
    for (const pointers of [
      { mrIid: 3 },
      { pipelineId: 50 },
      { sourceBranch: 'bot/change' },
      { targetBranch: 'main' },
      { mrIid: 4, pipelineId: 50 },
    ]) {
      expect(await find(pointers)).toEqual([id])
    }
  })

  test('finds nothing else', async () => {
    await insert(mrSubmission(), { mrIid: 3, headPipelineId: 50, resolvedTarget: 'main' })
    for (const pointers of [
      {},
      { mrIid: 4 },
      { pipelineId: 3 },
      { sourceBranch: 'main' },
      { targetBranch: 'bot/change' },
      { projectId: projectId + 1, mrIid: 3 },
    ]) {
      expect(await find(pointers)).toEqual([])
    }
  })

  test('is answered by itself, however many are asked about together', async () => {
    const first = await insert(mrSubmission(), { mrIid: 3, resolvedTarget: 'main' })
    const second = await insert(mrSubmission({ source_branch: 'bot/other' }), { mrIid: 4, resolvedTarget: 'main' })
    const pointers = [{ mrIid: 4 }, { mrIid: 9 }, { targetBranch: 'main' }, { mrIid: 3, sourceBranch: 'bot/other' }]
    const found = await findItemsByPointers(
      database.db,
      pointers.map((one) => ({ projectId, ...one })),
    )
    expect(found).toEqual([[second], [], [first, second], [first, second]])
  })

  test('does not concern terminal items', async () => {
    await insert(mrSubmission(), { mrIid: 3 }, 'completed')
    expect(await find({ mrIid: 3 })).toEqual([])
  })

  test('wakes no more than a bounded number of items', async () => {
    for (let count = 0; count < 205; count += 1) await insert(mrSubmission(), { resolvedTarget: 'busy' })
    expect(await find({ targetBranch: 'busy' })).toHaveLength(200)
  })
})
