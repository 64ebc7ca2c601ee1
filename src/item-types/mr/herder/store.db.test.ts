import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts'
import { mrPolicy } from '../../../../test/support/mr-item.ts'
import { createRules, type Matcher } from './matchers.ts'
import {
  type FailureRecord,
  readSightings,
  recordFailures,
  recordGreen,
  releaseRetries,
  reserveRetries,
} from './store.ts'

const DAY_MS = 86_400_000
const BREAKER = { failures: 3, window: 600_000 }

let database: TestDatabase
let projectId = 100

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  projectId += 1
  await database.db.deleteFrom('mr_ci_failures').execute()
})

function matcher(budget: number): Matcher {
  const config = mrPolicy({ herder: { matchers: [{ name: 'flaky', match: { job: '*' }, action: 'retry', budget }] } })
  const [project] = config.projects
  const [first] = project === undefined ? [] : createRules(config)(project).matchers
  if (first === undefined) throw new Error('no matcher')
  return first
}

const aFailure = (jobId: number, given: Partial<FailureRecord> = {}): FailureRecord => ({
  jobId,
  name: 'unit',
  stage: 'test',
  failureReason: 'runner_system_failure',
  webUrl: `https://gitlab.example.com/group/name/-/jobs/${jobId}`,
  run: 1,
  matcher: matcher(2),
  decision: 'retrying',
  ...given,
})

const place = (pipelineId = 5) => ({ projectId, project: 'group/name', pipelineId })
const record = (failures: readonly FailureRecord[], pipelineId?: number) =>
  recordFailures(database.db, place(pipelineId), failures, [], DAY_MS)
const sightings = (jobIds: readonly number[]) => readSightings(database.db, projectId, jobIds, BREAKER)
const reserve = (jobIds: readonly number[], budget = 2) =>
  reserveRetries(
    database.db,
    projectId,
    jobIds.map((jobId) => ({ jobId, matcher: one(budget) })),
  )

/** The same value for the same budget, as in the rules of a project. */
const matchers = new Map<number, Matcher>()
function one(budget: number): Matcher {
  const known = matchers.get(budget) ?? matcher(budget)
  matchers.set(budget, known)
  return known
}

describe('a failure', () => {
  test('keeps the time at which it was first seen, however often it is judged', async () => {
    await record([aFailure(1)])
    const { seenAt } = await sightings([1])
    await record([aFailure(1, { decision: 'waiting' })])
    expect((await sightings([1, 2])).seenAt).toEqual(seenAt)
    expect(seenAt.size).toBe(1)
  })

  test('is forgotten after the time that was set', async () => {
    await record([aFailure(1)])
    await database.db
      .updateTable('mr_ci_failures')
      .set({ seen_at: new Date(Date.now() - DAY_MS - 1_000) })
      .execute()
    await record([aFailure(2)])
    const rows = await database.db.selectFrom('mr_ci_failures').select('job_id').execute()
    expect(rows).toEqual([{ job_id: 2n }])
  })

  test('counts for the breaker in every project, if a retry would be for it', async () => {
    await record([aFailure(1), aFailure(2, { matcher: null })])
    projectId += 1
    await record([aFailure(1)])
    expect((await sightings([9])).history.failures).toHaveLength(2)
    await record([aFailure(3), aFailure(4), aFailure(5)])
    expect((await sightings([9])).history.failures).toHaveLength(BREAKER.failures)
  })
})

describe('a budget', () => {
  test('is spent by all retries of a pipeline together, or by none', async () => {
    await record([aFailure(1), aFailure(2), aFailure(3)])
    expect(await reserve([1])).toBe(true)
    expect(await reserve([2, 3])).toBe(false)
    expect((await sightings([9])).history.retries).toHaveLength(1)
    expect(await reserve([2])).toBe(true)
    expect(await reserve([3])).toBe(false)
  })

  test('is spent once, however many processes ask at the same moment', async () => {
    const ids = [1, 2, 3, 4, 5, 6, 7, 8]
    await record(ids.map((id) => aFailure(id)))
    const answers = await Promise.all(ids.map((id) => reserve([id])))
    expect(answers.filter(Boolean)).toHaveLength(2)
  })

  test('is not spent twice by a retry that has to be made again, and is given back by one that was not made', async () => {
    await record([aFailure(1), aFailure(2), aFailure(3)])
    expect(await reserve([1, 2])).toBe(true)
    // They are still the latest runs of their jobs, so nothing has come of it.
    expect((await sightings([1, 2])).history.retries).toEqual([])
    expect(await reserve([1, 2])).toBe(true)
    await releaseRetries(database.db, projectId, [2], 'refused')
    expect(await reserve([3])).toBe(true)
  })
})

test('a green pipeline settles what had failed in it, whoever ran it again, and nothing else', async () => {
  await record([aFailure(1), aFailure(2)])
  await record([aFailure(3)], 6)
  await reserve([1])
  await reserve([3])
  await recordGreen(database.db, projectId, 5)
  const rows = await database.db.selectFrom('mr_ci_failures').select(['job_id', 'outcome']).orderBy('job_id').execute()
  expect(rows.map(({ outcome }) => outcome)).toEqual(['success', 'success', null])
})
