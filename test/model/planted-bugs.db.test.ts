/** The model notices what it is there to notice. */
import { expect, test } from 'vitest'
import { checkModel } from './check.ts'
import { RUNS, SEED, useModelDatabase } from './model-runs.ts'
import { BUG_NAMES, plant } from './planted-bugs.ts'
import { REFUSED } from './world.ts'

const database = useModelDatabase()

test.each(BUG_NAMES)('notices when %s', { timeout: 120_000 }, async (bug) => {
  const planted = plant(bug)
  const options = { runs: RUNS, seed: SEED, shrinks: false, rewrite: planted.rewrite }
  const { failed, report } = await checkModel({ ...database(), ...options })
  expect(planted.count(), 'statements in which it could be planted').toBeGreaterThan(0)
  expect(failed).toBe(true)
  // By what it does, and not because it is no SQL any more.
  expect(report).not.toContain(REFUSED)
})
