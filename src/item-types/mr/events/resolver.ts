/**
 * Which active items an event concerns: those with its merge request, its pipeline or its branch, and of a build after the
 * merge those that were merged as its commit. Decision 0032.
 */
import type { Database } from '../../../db/database.ts'
import type { IncomingEvent } from '../../../queue/item-type.ts'
import { findItemsByMergeCommit, findItemsByPointers } from '../store.ts'
import { readBuildResult } from './pipeline-run.ts'
import { readPointers } from './schema.ts'

export async function resolveItems(db: Database, { eventType, body }: IncomingEvent): Promise<readonly string[]> {
  if (eventType === 'pipeline_run') {
    const result = readBuildResult(body)
    return result === null ? [] : findItemsByMergeCommit(db, result.sha)
  }
  const pointers = readPointers(eventType, body)
  return pointers === null ? [] : findItemsByPointers(db, pointers)
}
