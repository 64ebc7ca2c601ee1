/**
 * The processing manager: a bounded pool of workers over one set of wake-ups. Whoever learns that an item may be due calls
 * `notify`: the API and the event door after their commit, a timer for what this process put off itself, and the sweep. A
 * wake-up is only a hint: correctness rests on the claim and on the sweep. Decisions 0035, 0036, 0041, 0044.
 */
import PQueue from 'p-queue'
import { messageOf } from '../lib/errors.ts'
import { type LoopDependencies, processWorkItem } from './processing-loop.ts'
import { findDueWorkItems } from './sql/find-due-work-items.ts'

export interface ProcessingManager {
  /** Sweeps at once, and then every sweep interval. */
  start(): void
  /** This item may be due. Never throws; duplicates cost nothing. */
  notify(workItemId: string): void
  /** Begins no further step, lets running actions finish within the grace period, then interrupts the rest. */
  stop(): Promise<void>
}

/** Longer waits are left to the sweep: a timer a day long for each item would only hold memory. */
const LONGEST_TIMER_MS = 3_600_000
/** How long interrupted actions may take to notice. */
const INTERRUPTION_MS = 5_000

export function createProcessingManager(deps: Omit<LoopDependencies, 'isStopping' | 'stopSignal'>): ProcessingManager {
  const { db, config, log } = deps
  const pool = new PQueue({ concurrency: config.workers })
  /** Items in the pool, waiting or running. `again`: notified meanwhile, so they go round once more. */
  const submitted = new Map<string, { again: boolean }>()
  const timers = new Map<string, NodeJS.Timeout>()
  const stopController = new AbortController()
  const loopDeps: LoopDependencies = { ...deps, isStopping: () => stopping, stopSignal: stopController.signal }
  let stopping = false
  let sweepTimer: NodeJS.Timeout | undefined
  let sweeping: Promise<void> | null = null

  function notify(workItemId: string): void {
    if (stopping) return
    clearTimer(workItemId)
    const present = submitted.get(workItemId)
    if (present) {
      present.again = true
      return
    }
    const entry = { again: false }
    submitted.set(workItemId, entry)
    void pool.add(() => work(workItemId, entry))
  }

  async function work(workItemId: string, entry: { again: boolean }): Promise<void> {
    entry.again = false
    let wakeInMs: number | null = null
    try {
      if (!stopping) wakeInMs = (await processWorkItem(loopDeps, workItemId)).wakeInMs
    } catch (error) {
      log.error(
        { work_item_id: workItemId, error: messageOf(error) },
        'an item could not be worked on; the sweep finds it again',
      )
    } finally {
      submitted.delete(workItemId)
    }
    if (entry.again) notify(workItemId)
    else if (wakeInMs !== null) wakeLater(workItemId, wakeInMs)
    if (pool.pending + pool.size < config.workers && moreWasDue) sweepSoon()
  }

  function wakeLater(workItemId: string, delayMs: number): void {
    if (stopping || delayMs > LONGEST_TIMER_MS) return
    clearTimer(workItemId)
    // One millisecond late rather than early: an early look finds the dimension still deferred.
    const timer = setTimeout(() => notify(workItemId), Math.ceil(delayMs) + 1)
    timers.set(workItemId, timer)
  }

  function clearTimer(workItemId: string): void {
    clearTimeout(timers.get(workItemId))
    timers.delete(workItemId)
  }

  /** The last sweep found as much as it might take: there may be more, which should not wait for the next interval. */
  let moreWasDue = false

  async function sweep(): Promise<void> {
    const free = config.workers - pool.pending - pool.size
    if (stopping || free <= 0) return
    try {
      const due = await findDueWorkItems(db, [...deps.itemTypes.keys()], free)
      moreWasDue = due.length === free
      for (const id of due) notify(id)
    } catch (error) {
      moreWasDue = false
      log.error({ error: messageOf(error) }, 'the sweep failed; it is tried again at the next interval')
    }
  }

  function sweepSoon(): void {
    sweeping ??= sweep().finally(() => {
      sweeping = null
    })
  }

  function idleWithin(milliseconds: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(resolve, milliseconds, false)
    void pool.onIdle().then(() => {
      clearTimeout(timer)
      resolve(true)
    })
    return promise
  }

  return {
    start() {
      sweepSoon()
      sweepTimer = setInterval(sweepSoon, config.sweep_interval)
    },
    notify,
    async stop() {
      stopping = true
      clearInterval(sweepTimer)
      for (const id of [...timers.keys()]) clearTimer(id)
      await sweeping
      if (await idleWithin(config.shutdown_grace)) return
      log.warn(
        { running: pool.pending },
        'some actions did not finish in time and are interrupted; others go on with them',
      )
      stopController.abort()
      await idleWithin(INTERRUPTION_MS)
    },
  }
}
