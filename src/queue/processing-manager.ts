/**
 * The processing manager: claims items for a bounded number of workers and keeps them busy. Whoever learns that an item may
 * be due says `notify`: the API and the event door after their commit, a timer for what this process put off itself. Another
 * process's hint and the sweep say that there may be some. All are only hints: correctness rests on the claim and on the
 * sweep. Decisions 0036, 0041, 0044, 0061, 0063.
 */
import PQueue from 'p-queue'
import type { Audit } from '../audit/entry.ts'
import type { Database } from '../db/database.ts'
import { messageOf } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { createClaimer } from './claimer.ts'
import type { QueueConfig } from './config.ts'
import type { AnyItemType } from './item-type.ts'
import { createLeaseKeeper } from './lease.ts'
import { createOutcomes } from './outcomes.ts'
import { createPace } from './pace.ts'
import { type LoopDependencies, processWorkItem } from './processing-loop.ts'
import type { ProcessStatus } from './queue-admin.ts'
import type { Claimed } from './sql/claim-sql.ts'
import { createExtendLeases } from './sql/extend-leases.ts'
import { createReadObservations } from './sql/read-observations.ts'
import { createWakeTimers } from './wake-timers.ts'

export interface ProcessingManager {
  /** Sweeps at once, and then every sweep interval. */
  start(): void
  /** This item may be due. Never throws; duplicates cost nothing. */
  notify(workItemId: string): void
  /** Some item may be due: another process has said so, or its hints may have been missed. */
  notifyAny(): void
  /** Could an item of this key be worked on at once? Then the place is kept for it until it is taken or given back. */
  reserve(concurrencyKey: string | null): Reservation | null
  /** True while another process would be sooner to take what comes now. */
  isBusy(): boolean
  status(): Omit<ProcessStatus, 'listening'>
  /** Begins no further step, lets running actions finish within the grace period, then interrupts the rest. */
  stop(): Promise<void>
}

/** A free worker, kept for an item that is about to be born claimed. */
export interface Reservation {
  /** `askedAt`: when the claim was sent, on the monotonic clock. */
  take(claimed: Claimed, askedAt: number): void
  giveBack(): void
}

export interface ManagerDependencies {
  readonly db: Database
  readonly itemTypes: ReadonlyMap<string, AnyItemType>
  readonly config: QueueConfig
  readonly audit: Audit
  readonly log: Log
  readonly random: () => number
}

/** How long interrupted actions may take to notice. */
const INTERRUPTION_MS = 5_000

/** An item this process holds. `again`: notified meanwhile, so it is looked at once more. */
interface Held {
  readonly concurrencyKey: string | null
  again: boolean
}

export function createProcessingManager(deps: ManagerDependencies): ProcessingManager {
  const { db, itemTypes, config, log } = deps
  const workers = new PQueue({ concurrency: config.workers })
  const pace = createPace(config.workers)
  const held = new Map<string, Held>()
  const heldByKey = new Map<string, number>()
  const stopController = new AbortController()
  const outcomes = createOutcomes(db, itemTypes)
  const leases = createLeaseKeeper({ extend: createExtendLeases(db), leaseMs: config.lease, log })
  const timers = createWakeTimers(notify)
  /** Before the start and after the stop nothing is begun: wake-ups are hints, the next start sweeps. */
  let running = false
  let reserved = 0
  let idle: (() => void) | null = null

  const loopDeps: LoopDependencies = {
    ...deps,
    outcomes,
    read: createReadObservations(db, itemTypes),
    isStopping: () => !running,
    stopSignal: stopController.signal,
    async inWorker(run) {
      const result = await workers.add(run)
      pace.ended()
      return result
    },
  }

  const claimer = createClaimer({
    db,
    itemTypes,
    log,
    leaseMs: config.lease,
    sweepIntervalMs: config.sweep_interval,
    perKey: config.concurrency_per_key,
    target: pace.target,
    room: () => pace.target() - held.size - reserved,
    workerIsFree: () => workers.pending + workers.size < config.workers,
    heldByKey: () => heldByKey,
    take: (claimed, askedAt) => take(claimed, askedAt),
  })

  function notify(workItemId: string): void {
    if (!running) return
    timers.clear(workItemId)
    const present = held.get(workItemId)
    if (present === undefined) claimer.want(workItemId)
    else present.again = true
  }

  function take(claimed: Claimed, askedAt: number): void {
    const { item } = claimed.snapshot
    const lease = leases.hold(item.id, claimed.epoch, askedAt)
    const former = held.get(item.id)
    if (former !== undefined) {
      // Its lease ran out without this process knowing yet. The new one is given back until that work has ended.
      former.again = true
      lease.end()
      void outcomes.release({ id: item.id, epoch: claimed.epoch, toTheBack: false }).catch(() => {})
      return
    }
    const entry: Held = { concurrencyKey: item.concurrencyKey, again: false }
    held.set(item.id, entry)
    count(item.concurrencyKey, 1)
    void work(claimed, entry, lease)
  }

  async function work(claimed: Claimed, entry: Held, lease: ReturnType<typeof leases.hold>): Promise<void> {
    const { id } = claimed.snapshot.item
    let wakeInMs: number | null = null
    try {
      wakeInMs = (await processWorkItem(loopDeps, lease, claimed)).wakeInMs
    } catch (error) {
      const fields = { work_item_id: id, error: messageOf(error) }
      log.error(fields, 'an item could not be worked on; the sweep finds it again')
    }
    // From here to the end nothing waits, so a wake-up is either seen in `again` or claims anew.
    held.delete(id)
    count(entry.concurrencyKey, -1)
    if (entry.again) notify(id)
    else if (wakeInMs === 0) claimer.lookForMore()
    else if (wakeInMs !== null && running) timers.set(id, wakeInMs)
    claimer.roomGrew(isFull(entry.concurrencyKey, 1))
    if (held.size === 0) idle?.()
  }

  function count(key: string | null, change: 1 | -1): void {
    if (key === null) return
    const items = (heldByKey.get(key) ?? 0) + change
    if (items === 0) heldByKey.delete(key)
    else heldByKey.set(key, items)
  }

  /** Is there no room for one more of this key, `before` items ago? */
  function isFull(key: string | null, before = 0): boolean {
    return key !== null && (heldByKey.get(key) ?? 0) + before >= config.concurrency_per_key
  }

  function idleWithin(milliseconds: number): Promise<boolean> {
    if (held.size === 0) return Promise.resolve(true)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(resolve, milliseconds, false)
    idle = () => {
      clearTimeout(timer)
      resolve(true)
    }
    return promise
  }

  return {
    start() {
      running = true
      claimer.start()
    },
    notify,
    notifyAny() {
      if (running) claimer.lookForMore()
    },
    reserve(concurrencyKey) {
      const busy = held.size + reserved >= config.workers || claimer.hasWork()
      if (!running || busy || isFull(concurrencyKey)) return null
      reserved += 1
      count(concurrencyKey, 1)
      const giveBack = () => {
        reserved -= 1
        count(concurrencyKey, -1)
      }
      return {
        take(claimed, askedAt) {
          giveBack()
          take(claimed, askedAt)
        },
        giveBack() {
          giveBack()
          claimer.roomGrew(isFull(concurrencyKey, 1))
        },
      }
    },
    isBusy: () => !running || held.size + reserved >= config.workers,
    status: () => ({
      workers: config.workers,
      running: workers.pending,
      held: held.size - workers.pending,
      draining: !running,
    }),
    async stop() {
      running = false
      timers.clearAll()
      await claimer.stop()
      if (!(await idleWithin(config.shutdown_grace))) {
        log.warn(
          { running: workers.pending },
          'some actions did not finish in time and are interrupted; others go on with them',
        )
        stopController.abort()
        await idleWithin(INTERRUPTION_MS)
      }
      leases.stop()
    },
  }
}
