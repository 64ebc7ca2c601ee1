/**
 * The sweep, the queue's safety net. It looks for work that nobody is awake for: items that a crash left actionable,
 * pending events without a worker, deferred dimensions and retries that have come due. It only wakes; deciding stays in
 * the loop. A wake-up lost elsewhere costs one interval of latency here, never an item. Decisions 0035 and 0048.
 */
import type { Database } from '../db/database.ts'
import { messageOf } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { findDueWorkItems } from './sql/find-due-work-items.ts'

export interface Sweep {
  /** Sweeps at once, and then every interval. */
  start(intervalMs: number): void
  /** A worker became free: if the last sweep found as much as it might take, there may be more, which need not wait. */
  workerFreed(): void
  stop(): Promise<void>
}

export interface SweepDependencies {
  readonly db: Database
  readonly log: Log
  /** Only these types; none = nothing is swept (decision 0025). */
  readonly itemTypes: readonly string[]
  /** How many more items the pool could work on right now; no more are taken, so that other processes get the rest. */
  readonly freeWorkers: () => number
  readonly notify: (workItemId: string) => void
}

export function createSweep({ db, log, itemTypes, freeWorkers, notify }: SweepDependencies): Sweep {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  let moreWasDue = false
  let stopped = false

  async function sweep(): Promise<void> {
    const free = freeWorkers()
    if (stopped || free <= 0) return
    try {
      const due = await findDueWorkItems(db, itemTypes, free)
      moreWasDue = due.length === free
      for (const id of due) notify(id)
    } catch (error) {
      moreWasDue = false
      log.error({ error: messageOf(error) }, 'the sweep failed; it is tried again at the next interval')
    }
  }

  function sweepNow(): void {
    running ??= sweep().finally(() => {
      running = null
    })
  }

  return {
    start(intervalMs) {
      sweepNow()
      timer = setInterval(sweepNow, intervalMs)
    },
    workerFreed() {
      if (moreWasDue) sweepNow()
    },
    async stop() {
      stopped = true
      clearInterval(timer)
      await running
    },
  }
}
