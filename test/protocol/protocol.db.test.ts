/** The queue's insert, exit and claim in every order, in a setting that is small enough for each test run (decision 0059). */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { explore } from './explorer.ts'
import { installHeldClock } from './held-clock.ts'
import { PLANTED_BUGS } from './planted-bugs.ts'
import { SCENARIOS } from './scenarios.ts'

const BUDGET_MS = 120_000

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await installHeldClock(database.db)
})
afterAll(() => database.drop())

test.each(['reduced', 'acting', 'caller'] as const)(
  'no schedule of "%s" loses an event or applies it twice',
  async (name) => {
    const { counterexample, isComplete, schedules } = await explore(database.url, SCENARIOS[name], BUDGET_MS)
    expect(counterexample).toBeNull()
    expect(isComplete).toBe(true)
    expect(schedules).toBeGreaterThan(500n)
  },
  BUDGET_MS,
)

test.each(PLANTED_BUGS)(
  'finds $title',
  async ({ rewrite, fault, scenario }) => {
    const { counterexample } = await explore(database.url, { ...SCENARIOS[scenario], rewrite }, BUDGET_MS)
    expect(counterexample?.fault).toBe(fault)
  },
  BUDGET_MS,
)
