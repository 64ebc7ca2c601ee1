/** The queue against its model; `node test/model/run.ts --runs 2000` is the long form. */
import { expect, test } from 'vitest'
import { checkModel } from './check.ts'
import { RUNS, SEED, useModelDatabase } from './model-runs.ts'
import { plant } from './planted-bugs.ts'

const database = useModelDatabase()

test('keeps its promises whatever callers, events, processes and time do', { timeout: 240_000 }, async () => {
  const { rewrite } = plant(null)
  const { report } = await checkModel({ ...database(), runs: RUNS, seed: SEED, shrinks: true, rewrite })
  expect(report).toBe('')
})
