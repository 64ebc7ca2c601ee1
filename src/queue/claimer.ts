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
import type { QueueConfig } from './config.ts'
import type { HeldItems } from './held-items.ts'
import { createReadyLook, fillsAKey } from './ready-look.ts'
import type { ClaimOptions } from './sql/choose-sql.ts'
import { claimSize, createSweepWorkItems } from './sql/claim-due-work-items.ts'
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
  /** The same, by the word of another process. `anywhere`: what it has let go of may lie before the cursor. */
  lookByHint(anywhere: boolean): void
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
  readonly config: Pick<QueueConfig, 'lease' | 'sweep_interval' | 'concurrency_per_key'>
  readonly held: HeldItems
  /** How many items this process may hold. */
  readonly target: () => number
  readonly workerIsFree: () => boolean
  /** Here is a claimed item; `askedAt`: when its claim was sent, on the monotonic clock. */
  readonly take: (claimed: Claimed, askedAt: number) => void
}

/** Beyond this many, items are not remembered one by one: they are actionable, and found like everything else. */
const MOST_WANTED = 1_000
/** A sweep that takes long comes less often: it may use this part of the time. */
const SWEEP_SHARE = 0.1

export function createClaimer(deps: ClaimerDependencies): Claimer {
  const { db, itemTypes, config, log, held } = deps
  const claimThese = createClaimWorkItems(db, itemTypes)
  const ready = createReadyLook(db, itemTypes)
  const sweep = createSweep(deps, () => pump())
  const wanted = new Set<string>()
  let more = false
  let onItsWay: Promise<void> | null = null
  let running = false

  function pump(): void {
    if (!running || onItsWay !== null || !(wanted.size > 0 || more || sweep.isDue())) return
    const room = deps.target() - held.size
    if (room <= 0) return
    if (room < deps.target() / 2 && !deps.workerIsFree()) return
    onItsWay = claim(room).finally(() => {
      onItsWay = null
      pump()
    })
  }

  async function claim(room: number): Promise<void> {
    const options = {
      leaseMs: config.lease,
      limit: claimSize(room),
      freePerKey: config.concurrency_per_key,
      freeByKey: held.freeByKey(),
    }
    const askedAt = performance.now()
    try {
      for (const claimed of await next(options)) deps.take(claimed, askedAt)
    } catch (error) {
      // Nothing is forgotten: what was wanted is actionable, and the next sweep finds it.
      wanted.clear()
      more = false
      log.error({ error: messageOf(error) }, 'a claim failed; it is tried again at the next sweep')
    }
  }

  async function next(options: ClaimOptions): Promise<readonly Claimed[]> {
    if (sweep.isDue()) {
      const claimed = await sweep.claim(options)
      const last = claimed.at(-1)
      if (last !== undefined && (claimed.length >= options.limit || fillsAKey(claimed, options))) {
        ready.goOnBehind(last)
        more = true
      }
      return claimed
    }
    if (wanted.size > 0) {
      const ids = [...wanted].slice(0, options.limit)
      for (const id of ids) wanted.delete(id)
      const claimed = await claimThese(ids, options)
      // Somebody else has the others, or their key has no room: then they are found when it has.
      if (claimed.length < ids.length) more = true
      return claimed
    }
    more = false
    const { claimed, isEnd, isDisappointed } = await ready.claim(options)
    if (!isEnd) more = true
    if (isDisappointed) sweep.hasten()
    return claimed
  }

  function lookForMore(): void {
    more = true
    pump()
  }

  return {
    start() {
      running = true
      sweep.start()
    },
    want(workItemId) {
      if (wanted.size < MOST_WANTED) wanted.add(workItemId)
      else more = true
      pump()
    },
    lookForMore,
    lookByHint(anywhere) {
      if (anywhere) sweep.hasten()
      else ready.expectSome()
      lookForMore()
    },
    roomGrew(keyWasFull) {
      if (keyWasFull) {
        ready.fromTheStart()
        more = true
      }
      pump()
    },
    hasWork: () => wanted.size > 0 || more,
    async stop() {
      running = false
      sweep.stop()
      await onItsWay
    },
  }
}

interface Sweep {
  start(): void
  isDue(): boolean
  /** Does not wait for the whole interval. */
  hasten(): void
  claim(options: ClaimOptions): Promise<readonly Claimed[]>
  stop(): void
}

/** However much others have to say, sweeps are at least this far apart. */
const SWEEP_PAUSE_MS = 200

/** Becomes due at the start, and then an interval after each sweep. */
function createSweep({ db, itemTypes, config }: ClaimerDependencies, onDue: () => void): Sweep {
  const sweep = createSweepWorkItems(db, itemTypes)
  let isDue = false
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  /** On the monotonic clock; not before the first sweep has ended. */
  let earliest = Number.POSITIVE_INFINITY
  let isHastened = false

  function becomeDue(): void {
    isDue = true
    isHastened = false
    onDue()
  }

  return {
    start: becomeDue,
    isDue: () => isDue,
    hasten() {
      if (isDue || isHastened || isStopped || earliest === Number.POSITIVE_INFINITY) return
      isHastened = true
      clearTimeout(timer)
      timer = setTimeout(becomeDue, Math.max(0, earliest - performance.now()))
    },
    async claim(options) {
      isDue = false
      earliest = Number.POSITIVE_INFINITY
      const startedAt = performance.now()
      try {
        return await sweep(options)
      } finally {
        const now = performance.now()
        const ownShareMs = (now - startedAt) / SWEEP_SHARE
        earliest = now + Math.max(SWEEP_PAUSE_MS, ownShareMs)
        if (!isStopped) timer = setTimeout(becomeDue, Math.max(config.sweep_interval, ownShareMs))
      }
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
