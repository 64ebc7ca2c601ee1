/**
 * The upsert: callers always send the state they want, and the queue finds out what that means for what exists. One
 * implementation serves every item type: a type only says what identifies a submission and what of it counts as content.
 * Decisions 0039, 0040, 0053.
 */
import { v7 as uuidv7 } from 'uuid'
import type { Database, Transaction } from '../db/database.ts'
import { WorkQueueError } from '../lib/errors.ts'
import type { AnyItemType } from './item-type.ts'
import { findLiveWorkItem } from './sql/find-live-work-item.ts'
import { insertWorkItem } from './sql/insert-work-item.ts'
import { readDimensionStatus } from './sql/read-dimension-status.ts'
import { requireDimensions } from './sql/save-dimensions.ts'
import { isUniqueViolation } from './sql/unique-violation.ts'
import { wakeByCaller } from './sql/wake-by-caller.ts'
import type { WorkItem } from './work-item.ts'
import type { SubmissionResult } from './work-queue.ts'

/** Each lost race means that somebody else's insert or end went through, so a few rounds are plenty. */
const MAX_ROUNDS = 10

/** Accepts an inspected submission, in one transaction. */
export async function submitWorkItem(
  db: Database,
  type: AnyItemType,
  submission: unknown,
  caller: string,
): Promise<SubmissionResult> {
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    try {
      return await db.transaction().execute((tx) => upsert(tx, type, submission, caller))
    } catch (error) {
      // Another submission of the same identity was first: read again what is there now.
      if (!isUniqueViolation(error)) throw error
    }
  }
  throw new WorkQueueError('busy', 'Too many submissions of the same work item at once. Send it again.', {
    failure: 'transient',
    retryAfterMs: 1_000,
  })
}

async function upsert(
  tx: Transaction,
  type: AnyItemType,
  submission: unknown,
  caller: string,
): Promise<SubmissionResult> {
  const { dedupKey, contentHash } = type.identify(submission)
  const live = await findLiveWorkItem(tx, dedupKey)
  if (live === null) {
    const item = await insertWorkItem(tx, {
      id: uuidv7(),
      itemType: type.name,
      dedupKey,
      contentHash,
      callerIdentity: caller,
    })
    await type.store.insert(tx, item.id, submission)
    return { outcome: 'created', item }
  }
  if (await isUnchanged(tx, type, live, contentHash)) return { outcome: 'unchanged', item: live }
  const item = await wakeByCaller(tx, live.id, [live.phase], contentHash)
  if (item === null) throw new Error(`work item ${live.id} changed although it was locked`)
  await type.store.update(tx, item.id, submission)
  await requireDimensions(tx, item.id, item.revision, type.onSubmission.needed, type.onSubmission.cleared)
  return { outcome: live.phase === 'failed' ? 'retried' : 'updated', item }
}

/** The same content is nothing new, unless the item is about to be cancelled: then its caller has changed their mind. */
async function isUnchanged(tx: Transaction, type: AnyItemType, live: WorkItem, contentHash: string): Promise<boolean> {
  if (live.phase !== 'active' || live.contentHash !== contentHash) return false
  return (await readDimensionStatus(tx, live.id, type.onCancel)) !== 'true'
}
