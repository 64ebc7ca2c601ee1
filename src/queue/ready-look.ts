/**
 * The look at what is ready, with its cursor: where the last look of this process ended, the next one begins. The cursor is
 * only a place to begin: what comes due behind it is found by the sweep (decision 0061).
 */
import type { Database } from '../db/database.ts'
import type { ClaimOptions } from './sql/choose-sql.ts'
import { type ClaimCursor, createClaimReadyWorkItems, FROM_THE_START } from './sql/claim-due-work-items.ts'
import type { Claimed } from './sql/claim-sql.ts'
import type { ItemTypes } from './sql/detail-sql.ts'

export interface ReadyLook {
  /** Claims what is next. */
  claim(options: ClaimOptions): Promise<Look>
  /** Somebody has said that there is something; the next look is disappointed when it finds nothing. */
  expectSome(): void
  /** There may be something behind the cursor that was passed over. */
  fromTheStart(): void
  /** Goes on behind this item: it was the last of what a sweep could take, and there is more. */
  goOnBehind(claimed: Claimed): void
}

interface Look {
  readonly claimed: readonly Claimed[]
  /** There was nothing behind these. */
  readonly isEnd: boolean
  /** There should have been something: it may lie before the cursor. */
  readonly isDisappointed: boolean
}

/**
 * A look that found less than it might have has seen the end of the queue. The next one starts this far back: what was
 * inserted by a transaction that began a little earlier and committed a little later lies before the end.
 */
const STEP_BACK_MS = 50

export function createReadyLook(db: Database, itemTypes: ItemTypes): ReadyLook {
  const claimReady = createClaimReadyWorkItems(db, itemTypes)
  let cursor: ClaimCursor = FROM_THE_START
  let isExpecting = false
  return {
    async claim(options) {
      const wasExpecting = isExpecting
      isExpecting = false
      const claimed = await claimReady(cursor, options)
      const last = claimed.at(-1)
      if (last !== undefined) cursor = { dueAt: last.dueAt, id: last.snapshot.item.id, stepBackMs: 0 }
      const isEnd = claimed.length < options.limit && !fillsAKey(claimed, options)
      if (isEnd) cursor = { ...cursor, id: FROM_THE_START.id, stepBackMs: STEP_BACK_MS }
      return { claimed, isEnd, isDisappointed: wasExpecting && claimed.length === 0 }
    },
    expectSome() {
      isExpecting = true
    },
    fromTheStart() {
      cursor = FROM_THE_START
    },
    goOnBehind({ dueAt, snapshot }) {
      cursor = { dueAt, id: snapshot.item.id, stepBackMs: 0 }
    },
  }
}

/** Does the claim use up the room of a key? Then it may have found nothing but items of that key, and others lie behind. */
export function fillsAKey(claimed: readonly Claimed[], { freeByKey, freePerKey }: ClaimOptions): boolean {
  const free = new Map(freeByKey)
  return claimed.some(({ snapshot: { item } }) => {
    if (item.concurrencyKey === null) return false
    const left = (free.get(item.concurrencyKey) ?? freePerKey) - 1
    free.set(item.concurrencyKey, left)
    return left <= 0
  })
}
