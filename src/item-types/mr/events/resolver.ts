/**
 * Which active items an event concerns: those with its merge request, its pipeline or its branch, and of a build after the
 * merge those that were merged as its commit. Events that arrive at the same time share a look (decision 0062). Decision 0032.
 */
import type { Database } from '../../../db/database.ts'
import { isDatabaseTrouble } from '../../../lib/connection-error.ts'
import { createGrouper } from '../../../lib/grouper.ts'
import type { IncomingEvent } from '../../../queue/item-type.ts'
import { findItemsByMergeCommit, findItemsByPointers } from '../store.ts'
import { readBuildResult } from './pipeline-run.ts'
import { type Pointers, readPointers } from './schema.ts'

const MOST_IN_A_GROUP = 100

export function createResolveItems(db: Database): (event: IncomingEvent) => Promise<readonly string[]> {
  const groups = createGrouper<Pointers, readonly string[]>({
    run: (pointers) => findItemsByPointers(db, pointers),
    maxSize: MOST_IN_A_GROUP,
    // It only reads, so that nobody is in anybody's way.
    concurrency: 2,
    isShared: isDatabaseTrouble,
  })
  return async ({ eventType, body }) => {
    if (eventType === 'pipeline_run') {
      const result = readBuildResult(body)
      return result === null ? [] : findItemsByMergeCommit(db, result.sha)
    }
    const pointers = readPointers(eventType, body)
    return pointers === null ? [] : groups.run(pointers)
  }
}
