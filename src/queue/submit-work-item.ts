/**
 * The upsert: callers always send the state they want, and the queue finds out what that means for what exists. One
 * implementation serves every item type: a type only says what identifies a submission and what of it counts as content.
 * Decisions 0039, 0040, 0053.
 *
 * Most submissions are new. They are inserted first, many in one statement when many come at once, and born claimed where
 * this process has a free worker (decisions 0061 and 0062); only where that finds a live item of the same identity does the
 * submission look at what is there.
 */
import { v7 as uuidv7 } from 'uuid'
import type { Database } from '../db/database.ts'
import { isDatabaseTrouble } from '../lib/connection-error.ts'
import { WorkQueueError } from '../lib/errors.ts'
import { createGrouper } from '../lib/grouper.ts'
import type { AnyItemType, Identity } from './item-type.ts'
import type { OpenItems } from './open-items.ts'
import type { ProcessingManager, Reservation } from './processing-manager.ts'
import { createCreateWorkItems, type NewWorkItem } from './sql/create-work-items.ts'
import type { ItemTypes } from './sql/detail-sql.ts'
import { findLiveWorkItem } from './sql/find-live-work-item.ts'
import { readDimensionStatus } from './sql/read-dimension-status.ts'
import { createReplaceDetail } from './sql/replace-detail.ts'
import { requireDimensions } from './sql/require-dimensions.ts'
import { wakeByCaller } from './sql/wake-by-caller.ts'
import type { WakeHints } from './wake-hints.ts'
import type { WorkItem } from './work-item.ts'
import type { SubmissionResult } from './work-queue.ts'

export interface SubmitDependencies {
  readonly db: Database
  readonly itemTypes: ItemTypes
  readonly manager: Pick<ProcessingManager, 'reserve' | 'notify' | 'isBusy'>
  readonly hints: WakeHints
  readonly openItems: OpenItems
  readonly leaseMs: number
}

export interface Submitter {
  readonly name: string
  /** May this submission change the live item of somebody else? */
  readonly mayTakeOver: () => boolean
}

/**
 * Accepts an inspected submission. Returns after the commit, with the item's worker woken.
 * @throws WorkQueueError `owned_by_another_caller`, `too_many_open_items`, `busy`.
 */
export type SubmitWorkItem = (type: AnyItemType, submission: unknown, submitter: Submitter) => Promise<SubmissionResult>

/** Each lost race means that somebody else's insert or end went through, so a few rounds are plenty. */
const MAX_ROUNDS = 10
const MOST_IN_A_GROUP = 200
/** Characters of details in one statement. */
const HEAVIEST_GROUP = 8_000_000

interface Creation {
  readonly item: NewWorkItem
  readonly reservation: Reservation | null
}

export function createSubmitWorkItem(dependencies: SubmitDependencies): SubmitWorkItem {
  const { db, itemTypes, manager, hints, openItems, leaseMs } = dependencies
  const createAll = createCreateWorkItems(db, itemTypes)
  const replaceDetail = createReplaceDetail(itemTypes)
  const creations = createGrouper<Creation, WorkItem | null>({
    run: create,
    maxSize: MOST_IN_A_GROUP,
    maxWeight: HEAVIEST_GROUP,
    weigh: ({ item }) => item.detail.length,
    isShared: isDatabaseTrouble,
  })

  async function create(group: readonly Creation[]): Promise<readonly (WorkItem | null)[]> {
    const notify = group.some(({ reservation }) => reservation === null) && hints.ride()
    const askedAt = performance.now()
    const created = await createAll(
      group.map(({ item }) => item),
      { leaseMs, notify },
    )
    return created.map((claimed, index) => {
      const reservation = group[index]?.reservation ?? null
      if (claimed === null) return null
      if (reservation !== null) reservation.take(claimed, askedAt)
      else manager.notify(claimed.snapshot.item.id)
      return claimed.snapshot.item
    })
  }

  function wake(workItemId: string): void {
    manager.notify(workItemId)
    if (manager.isBusy()) hints.send()
  }

  async function insert({ type, identity, detail, submitter }: Offer): Promise<WorkItem | null> {
    const concurrencyKey = identity.concurrencyKey ?? null
    const reservation = manager.reserve(concurrencyKey)
    const item: NewWorkItem = {
      id: uuidv7(),
      itemType: type.name,
      dedupKey: identity.dedupKey,
      contentHash: identity.contentHash,
      concurrencyKey,
      callerIdentity: submitter.name,
      detail,
      claimed: reservation !== null,
    }
    let created: WorkItem | null = null
    try {
      created = await creations.run({ item, reservation })
      return created
    } finally {
      if (created === null) reservation?.giveBack()
    }
  }

  return async (type, submission, submitter) => {
    const offer: Offer = {
      ...{ type, submitter, identity: type.identify(submission) },
      detail: JSON.stringify(type.details.fromSubmission(submission)),
    }
    const owner = { caller: submitter.name, concurrencyKey: offer.identity.concurrencyKey ?? null }
    return openItems.within(
      owner,
      (excess) => upsert(offer, excess),
      ({ outcome }) => outcome === 'created',
    )
  }

  /** `excess`: why no new item may be made. */
  async function upsert(offer: Offer, excess: WorkQueueError | null): Promise<SubmissionResult> {
    for (let round = 1; round <= MAX_ROUNDS; round += 1) {
      const item = excess === null ? await insert(offer) : null
      if (item !== null) return { outcome: 'created', item }
      const updated = await update(db, replaceDetail, offer)
      if (updated === null && excess !== null) throw excess
      if (updated === null) continue
      if (updated.outcome !== 'unchanged') wake(updated.item.id)
      return updated
    }
    throw new WorkQueueError('busy', 'Too many submissions of the same work item at once. Send it again.', {
      failure: 'transient',
      retryAfterMs: 1_000,
    })
  }
}

interface Offer {
  readonly type: AnyItemType
  readonly identity: Identity
  readonly detail: string
  readonly submitter: Submitter
}

/** null: there is no live item of this identity any more. */
function update(
  db: Database,
  replaceDetail: ReturnType<typeof createReplaceDetail>,
  { type, identity: { dedupKey, contentHash }, detail, submitter }: Offer,
): Promise<SubmissionResult | null> {
  return db.transaction().execute(async (tx) => {
    const live = await findLiveWorkItem(tx, dedupKey)
    if (live === null) return null
    if (await isUnchanged(tx, type, live, contentHash)) return { outcome: 'unchanged', item: live }
    if (isForeign(live, submitter)) throw ownedByAnother(live)
    const item = await wakeByCaller(tx, live.id, [live.phase], { hash: contentHash, caller: submitter.name })
    if (item === null) throw new Error(`work item ${live.id} changed although it was locked`)
    await replaceDetail(tx, item.id, type.name, detail)
    await requireDimensions(tx, item.id, item.revision, type.onSubmission.needed, type.onSubmission.cleared)
    return { outcome: live.phase === 'failed' ? 'retried' : 'updated', item }
  })
}

/** Two callers who may both write to a branch must not undo each other's work by accident (decision 0084). */
export function isForeign(live: WorkItem, { name, mayTakeOver }: Submitter): boolean {
  return live.callerIdentity !== name && !mayTakeOver()
}

export function ownedByAnother({ id, callerIdentity }: WorkItem): WorkQueueError {
  return new WorkQueueError(
    'owned_by_another_caller',
    `Work item ${id}, which is not over, is of ${callerIdentity}. Use another branch, have it cancelled, or ask the operator ` +
      'for the permission "overwrite".',
  )
}

/** The same content is nothing new, unless the item is about to be cancelled: then its caller has changed their mind. */
export async function isUnchanged(
  db: Database,
  type: AnyItemType,
  live: WorkItem,
  contentHash: string,
): Promise<boolean> {
  if (live.phase !== 'active' || live.contentHash !== contentHash) return false
  return (await readDimensionStatus(db, live.id, type.onCancel)) !== 'true'
}
