/** What the two test files of the model share: the same runs, once with nothing planted and once with each bug. */
import { afterAll, beforeAll } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { createModelDatabase, type ModelDatabase } from './model-database.ts'

export const RUNS = 100
export const SEED = 24

/** A database for one test file; answers how to reach it once the tests run. */
export function useModelDatabase(): () => ModelDatabase {
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
  return () => modelled
}
