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
import type { EventCounts } from '../lib/event-counts.ts'
import type { Log } from '../lib/log.ts'
import { type Claimer, createClaimer } from './claimer.ts'
import type { QueueConfig } from './config.ts'
import { createHeldItems, type HeldItems } from './held-items.ts'
import type { AnyItemType } from './item-type.ts'
import { createLeaseKeeper, type Lease } from './lease.ts'
import { createOutcomes } from './outcomes.ts'
import { createPace } from './pace.ts'
import type { Pause } from './pause.ts'
import { type LoopDependencies, processWorkItem } from './processing-loop.ts'
import type { ProcessStatus } from './queue-admin.ts'
import type { Claimed } from './sql/claim-sql.ts'
import { createExtendLeases } from './sql/extend-leases.ts'
import { createReadObservations } from './sql/read-observations.ts'
import { createWakeTimers } from './wake-timers.ts'
import type { WorkItem } from './work-item.ts'

export interface ProcessingManager {
  /** Sweeps at once, and then every sweep interval. */
  start(): void
  /** This item may be due. Never throws; duplicates cost nothing. */
  notify(workItemId: string): void
  /** Some item may be due: another process has said so, or (`anywhere` in the queue) let go of one, or was not heard. */
  notifyAny(anywhere: boolean): void
  /** Could an item of this key be worked on at once? Then the place is kept for it until it is taken or given back. */
  reserve(concurrencyKey: string | null): Reservation | null
  /** True while another process would be sooner to take what comes now. */
  isBusy(): boolean
  status(): Omit<ProcessStatus, 'listening' | 'events'>
  /** Interrupts what is worked on, and gives it back. */
  interrupt(concerns: (item: WorkItem) => boolean): void
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
  readonly findPause: (item: WorkItem) => Pause | null
  /** There is work that this process lets go of; it may lie anywhere in the queue. */
  readonly tellOthers: () => void
  readonly counts: EventCounts
}

/** How long interrupted actions may take to notice. */
const INTERRUPTION_MS = 5_000

export function createProcessingManager(deps: ManagerDependencies): ProcessingManager {
  const { db, itemTypes, config, log } = deps
  const workers = new PQueue({ concurrency: config.workers })
  const pace = createPace(config.workers)
  const held = createHeldItems(config.concurrency_per_key)
  const outcomes = createOutcomes(db, itemTypes)
  const leases = createLeaseKeeper({ extend: createExtendLeases(db), leaseMs: config.lease, log })
  const timers = createWakeTimers(notify)
  /** Before the start and after the stop nothing is begun: wake-ups are hints, the next start sweeps. */
  let running = false

  const loopDeps: LoopDependencies = {
    ...deps,
    outcomes,
    read: createReadObservations(db, itemTypes),
    isStopping: () => !running,
    inWorker: (run) => workers.add(() => pace.time(run)),
  }
  const claimer = createClaimer({
    ...{ db, itemTypes, config, log, held, take },
    target: pace.target,
    workerIsFree: () => workers.pending + workers.size < config.workers,
  })

  function notify(workItemId: string): void {
    if (!running) return
    timers.clear(workItemId)
    if (!held.markAgain(workItemId)) claimer.want(workItemId)
  }

  function take(claimed: Claimed, askedAt: number): void {
    const { item } = claimed.snapshot
    const { id } = item
    const { epoch } = claimed
    if (held.markAgain(id)) {
      // The lease of that work ran out without this process knowing yet. The new one is given back until it has ended.
      void outcomes.release({ id, epoch, toTheBack: false }).catch(() => {})
      return
    }
    held.add(item)
    void work(claimed, leases.hold(id, epoch, askedAt))
  }

  async function work(claimed: Claimed, lease: Lease): Promise<void> {
    const { id, concurrencyKey } = claimed.snapshot.item
    let wakeInMs: number | null = null
    try {
      wakeInMs = (await processWorkItem(loopDeps, lease, claimed)).wakeInMs
    } catch (error) {
      log.error(
        { work_item_id: id, error: messageOf(error) },
        'an item could not be worked on; the sweep finds it again',
      )
    }
    // From here to the end nothing waits, so a wake-up is either seen in `again` or claims anew.
    const keyWasFull = held.isFull(concurrencyKey)
    if (held.remove(id)) notify(id)
    else if (wakeInMs === 0) running ? claimer.lookForMore() : deps.tellOthers()
    else if (wakeInMs !== null && running) timers.set(id, wakeInMs)
    claimer.roomGrew(keyWasFull)
  }

  return {
    start() {
      running = true
      claimer.start()
    },
    notify,
    notifyAny(anywhere) {
      if (running) claimer.lookByHint(anywhere)
    },
    reserve(concurrencyKey) {
      const isFree = running && held.size < config.workers && !claimer.hasWork() && !held.isFull(concurrencyKey)
      return isFree ? createReservation(held, claimer, take, concurrencyKey) : null
    },
    isBusy: () => !running || held.size >= config.workers,
    status: () => ({
      workers: config.workers,
      running: workers.pending,
      held: held.size - workers.pending,
      draining: !running,
    }),
    interrupt: (concerns) => leases.lose(held.idsOf(concerns)),
    async stop() {
      running = false
      timers.clearAll()
      await claimer.stop()
      if (!(await held.emptyWithin(config.shutdown_grace))) {
        const message = 'some actions did not finish in time and are interrupted; others go on with them'
        log.warn({ running: workers.pending }, message)
        leases.loseAll()
        await held.emptyWithin(INTERRUPTION_MS)
      }
      leases.stop()
    },
  }
}

function createReservation(
  held: HeldItems,
  claimer: Claimer,
  take: (claimed: Claimed, askedAt: number) => void,
  concurrencyKey: string | null,
): Reservation {
  held.keepPlace(concurrencyKey)
  return {
    take(claimed, askedAt) {
      held.givePlaceBack(concurrencyKey)
      take(claimed, askedAt)
    },
    giveBack() {
      const keyWasFull = held.isFull(concurrencyKey)
      held.givePlaceBack(concurrencyKey)
      claimer.roomGrew(keyWasFull)
    },
  }
}
