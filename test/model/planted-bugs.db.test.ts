/** The model notices what it is there to notice. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { checkModel } from './check.ts'
import { createModelDatabase, type ModelDatabase } from './model-database.ts'
import { BUG_NAMES, plant } from './planted-bugs.ts'
import { REFUSED } from './world.ts'

/** As many runs and the seed of `model.db.test.ts`, which finds nothing in them where nothing is planted. */
const MOST_RUNS = 100
const SEED = 24

let database: TestDatabase
let modelled: ModelDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  modelled = await createModelDatabase(database.url, database.db)
})
afterAll(async () => {
  await modelled.pool.end()
  await database.drop()
})

test.each(BUG_NAMES)('notices when %s', { timeout: 120_000 }, async (bug) => {
  const planted = plant(bug)
  const options = { runs: MOST_RUNS, seed: SEED, shrinks: false, rewrite: planted.rewrite }
  const { failed, report } = await checkModel({ ...modelled, ...options })
  expect(planted.count(), 'statements in which it could be planted').toBeGreaterThan(0)
  expect(failed).toBe(true)
  // By what it does, and not because it is no SQL any more.
  expect(report).not.toContain(REFUSED)
})
