/** The queue against its model; `node test/model/run.ts --runs 2000` is the long form. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { checkModel } from './check.ts'
import { createModelDatabase, type ModelDatabase } from './model-database.ts'
import { plant } from './planted-bugs.ts'

/** `planted-bugs.db.test.ts` relies on these: change them together. */
const RUNS = 100
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

test('keeps its promises whatever callers, events, processes and time do', { timeout: 240_000 }, async () => {
  const { rewrite } = plant(null)
  const { report } = await checkModel({ ...modelled, runs: RUNS, seed: SEED, shrinks: true, rewrite })
  expect(report).toBe('')
})
