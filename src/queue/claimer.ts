/**
 * The claimer decides when this process claims, and what: the items it was told about, then whatever is ready, and every
 * sweep interval whatever is due for any reason. The sweep is the safety net: it finds what a crash left actionable, events
 * without a worker, deferred dimensions and retries that have come due. A wake-up lost elsewhere costs one interval of
 * latency here, never an item. Decisions 0035, 0048, 0061.
 *
 * One claim is on its way at a time. While there is a backlog it waits until a good part of what may be held is free, so that
 * claims are few and large; when a worker is idle it does not wait at all.
 */
import type { Database } from '../db/database.ts'
import { messageOf } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { ClaimOptions } from './sql/choose-sql.ts'
import {
  type ClaimCursor,
  createClaimReadyWorkItems,
  createSweepWorkItems,
  FROM_THE_START,
} from './sql/claim-due-work-items.ts'
import type { Claimed } from './sql/claim-sql.ts'
import { createClaimWorkItems } from './sql/claim-work-items.ts'
import type { ItemTypes } from './sql/detail-sql.ts'

export interface Claimer {
  /** Sweeps at once, and then every interval. */
  start(): void
  /** This item may be due. */
  want(workItemId: string): void
  /** Some item may be due. */
  lookForMore(): void
  /** An item has gone; `keyWasFull`: of a key of which no more could be claimed. */
  roomGrew(keyWasFull: boolean): void
  /** Is there work that waits to be claimed? */
  hasWork(): boolean
  /** Resolves when no claim is on its way. */
  stop(): Promise<void>
}

export interface ClaimerDependencies {
  readonly db: Database
  /** Only these are claimed; none = nothing is (decision 0025). */
  readonly itemTypes: ItemTypes
  readonly log: Log
  readonly leaseMs: number
  readonly sweepIntervalMs: number
  /** Items of one concurrency key at most. */
  readonly perKey: number
  /** How many items this process may hold, and how many more than now. */
  readonly target: () => number
  readonly room: () => number
  readonly workerIsFree: () => boolean
  readonly heldByKey: () => ReadonlyMap<string, number>
  /** Here is a claimed item; `askedAt`: when its claim was sent, on the monotonic clock. */
  readonly take: (claimed: Claimed, askedAt: number) => void
}

/** Beyond this many, items are not remembered one by one: they are actionable, and found like everything else. */
const MOST_WANTED = 1_000
/**
 * A look that found less than it might have has seen the end of the queue. The next one starts this far back: what was
 * inserted by a transaction that began a little earlier and committed a little later lies before the end.
 */
const STEP_BACK_MS = 50
/** A sweep that takes long comes less often: it may use this part of the time. */
const SWEEP_SHARE = 0.1

export function createClaimer(deps: ClaimerDependencies): Claimer {
  const { db, itemTypes, log, leaseMs } = deps
  const claimThese = createClaimWorkItems(db, itemTypes)
  const claimReady = createClaimReadyWorkItems(db, itemTypes)
  const sweep = createSweepWorkItems(db, itemTypes)

  const wanted = new Set<string>()
  let more = false
  let sweepIsDue = false
  let cursor: ClaimCursor = FROM_THE_START
  let onItsWay: Promise<void> | null = null
  let sweepTimer: NodeJS.Timeout | undefined
  let running = false

  function pump(): void {
    if (!running || onItsWay !== null || !(wanted.size > 0 || more || sweepIsDue)) return
    const room = deps.room()
    if (room <= 0) return
    if (room < deps.target() / 2 && !deps.workerIsFree()) return
    onItsWay = claim(room).finally(() => {
      onItsWay = null
      pump()
    })
  }

  async function claim(limit: number): Promise<void> {
    const askedAt = performance.now()
    try {
      for (const claimed of await next(limit)) deps.take(claimed, askedAt)
    } catch (error) {
      // Nothing is forgotten: what was wanted is actionable, and the next sweep finds it.
      wanted.clear()
      more = false
      log.error({ error: messageOf(error) }, 'a claim failed; it is tried again at the next sweep')
    }
  }

  async function next(limit: number): Promise<readonly Claimed[]> {
    const options = { leaseMs, limit, freePerKey: deps.perKey, freeByKey: freeByKey() }
    if (sweepIsDue) return sweepNow(options)
    if (wanted.size > 0) {
      const ids = [...wanted].slice(0, limit)
      for (const id of ids) wanted.delete(id)
      const claimed = await claimThese(ids, options)
      // Somebody else has the others, or their key has no room: then they are found when it has.
      if (claimed.length < ids.length) more = true
      return claimed
    }
    more = false
    const claimed = await claimReady(cursor, options)
    const last = claimed.at(-1)
    // A key that this claim has filled may have hidden what lies behind it.
    const isEnd = claimed.length < limit && !fillsKey(claimed, options.freeByKey)
    if (!isEnd) more = true
    if (last !== undefined) cursor = { dueAt: last.dueAt, id: last.snapshot.item.id, stepBackMs: 0 }
    if (isEnd) cursor = { ...cursor, id: FROM_THE_START.id, stepBackMs: STEP_BACK_MS }
    return claimed
  }

  async function sweepNow(options: ClaimOptions): Promise<readonly Claimed[]> {
    sweepIsDue = false
    const startedAt = performance.now()
    try {
      const claimed = await sweep(options)
      if (claimed.length >= options.limit || fillsKey(claimed, options.freeByKey)) more = true
      return claimed
    } finally {
      scheduleSweep(Math.max(deps.sweepIntervalMs, (performance.now() - startedAt) / SWEEP_SHARE))
    }
  }

  function scheduleSweep(delayMs: number): void {
    if (!running) return
    clearTimeout(sweepTimer)
    sweepTimer = setTimeout(() => {
      sweepIsDue = true
      pump()
    }, delayMs)
  }

  function freeByKey(): ReadonlyMap<string, number> {
    return new Map([...deps.heldByKey()].map(([key, items]) => [key, Math.max(0, deps.perKey - items)]))
  }

  function fillsKey(claimed: readonly Claimed[], before: ReadonlyMap<string, number>): boolean {
    const free = new Map(before)
    return claimed.some(({ snapshot: { item } }) => {
      if (item.concurrencyKey === null) return false
      const left = (free.get(item.concurrencyKey) ?? deps.perKey) - 1
      free.set(item.concurrencyKey, left)
      return left <= 0
    })
  }

  function lookForMore(): void {
    more = true
    pump()
  }

  return {
    start() {
      running = true
      sweepIsDue = true
      pump()
    },
    want(workItemId) {
      if (wanted.size < MOST_WANTED) wanted.add(workItemId)
      else more = true
      pump()
    },
    lookForMore,
    roomGrew(keyWasFull) {
      if (keyWasFull) {
        // What was passed over for want of room lies behind the cursor.
        cursor = FROM_THE_START
        more = true
      }
      pump()
    },
    hasWork: () => wanted.size > 0 || more,
    async stop() {
      running = false
      clearTimeout(sweepTimer)
      await onItsWay
    },
  }
}
