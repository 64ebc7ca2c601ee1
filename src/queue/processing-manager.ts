/**
 * The processing manager: a bounded pool of workers over one set of wake-ups. Whoever learns that an item may be due calls
 * `notify`: the API and the event door after their commit, a timer for what this process put off itself, and the sweep. A
 * wake-up is only a hint: correctness rests on the claim and on the sweep. Decisions 0036, 0041, 0044.
 */
import PQueue from 'p-queue'
import { messageOf } from '../lib/errors.ts'
import { type LoopDependencies, processWorkItem } from './processing-loop.ts'
import { createSweep } from './sweep.ts'
import { createWakeTimers } from './wake-timers.ts'

export interface ProcessingManager {
  /** Sweeps at once, and then every sweep interval. */
  start(): void
  /** This item may be due. Never throws; duplicates cost nothing. */
  notify(workItemId: string): void
  /** Begins no further step, lets running actions finish within the grace period, then interrupts the rest. */
  stop(): Promise<void>
}

/** How long interrupted actions may take to notice. */
const INTERRUPTION_MS = 5_000

export function createProcessingManager(deps: Omit<LoopDependencies, 'isStopping' | 'stopSignal'>): ProcessingManager {
  const { db, config, log } = deps
  const pool = new PQueue({ concurrency: config.workers })
  /** Items in the pool, waiting or running. `again`: notified while running, so they go round once more. */
  const submitted = new Map<string, { again: boolean }>()
  const stopController = new AbortController()
  /** Before the start and after the stop nothing is begun: wake-ups are hints, the next start sweeps. */
  let running = false
  const loopDeps: LoopDependencies = { ...deps, isStopping: () => !running, stopSignal: stopController.signal }
  const timers = createWakeTimers(notify)
  const sweep = createSweep({
    db,
    log,
    itemTypes: [...deps.itemTypes.keys()],
    freeWorkers: () => config.workers - pool.pending - pool.size,
    notify,
  })

  function notify(workItemId: string): void {
    if (!running) return
    timers.clear(workItemId)
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
      if (running) wakeInMs = (await processWorkItem(loopDeps, workItemId)).wakeInMs
    } catch (error) {
      const fields = { work_item_id: workItemId, error: messageOf(error) }
      log.error(fields, 'an item could not be worked on; the sweep finds it again')
    }
    // From here to the end nothing waits, so a wake-up is either seen in `again` or starts a round of its own.
    submitted.delete(workItemId)
    if (entry.again) notify(workItemId)
    else if (wakeInMs !== null && running) timers.set(workItemId, wakeInMs)
    sweep.workerFreed()
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
      running = true
      sweep.start(config.sweep_interval)
    },
    notify,
    async stop() {
      running = false
      timers.clearAll()
      await sweep.stop()
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
