/** Tries a policy on what was submitted before: the database of one configuration, and the rules of two. */
import { type BackTest, backTest } from '../item-types/mr/back-test.ts'
import { WorkQueueError } from '../lib/errors.ts'
import type { Config } from './config.ts'
import { createLog } from './log.ts'
import { openProgramDatabase } from './open-database.ts'

export type { BackTest, PolicyChange, PolicyEffect } from '../item-types/mr/back-test.ts'

/** @throws WorkQueueError `config_invalid` where a configuration has no `mr`, and what opening the database throws. */
export async function testPolicy(current: Config, proposed: Config, limit: number): Promise<BackTest> {
  const [before, after] = [current.mr, proposed.mr]
  if (before === undefined || after === undefined) {
    throw new WorkQueueError(
      'config_invalid',
      'Both configurations need the part "mr": its rules are what is compared.',
    )
  }
  const database = await openProgramDatabase(current.database, createLog('warn'))
  try {
    return await backTest(database.db, { current: before, proposed: after, limit })
  } finally {
    await database.close()
  }
}
