/**
 * The lease: the right of one worker to work on one item for a while. A claim takes it, a heartbeat keeps it, and the
 * epoch that the claim drew is the proof in every later write. `leased_until` alone could not fence: a worker that slept
 * through its lease would still believe in it. Decisions 0006 and 0051.
 *
 * The signal is aborted the moment the lease can no longer be trusted: the heartbeat was refused, or none has succeeded for
 * a whole lease by this process's own monotonic clock (the database is gone, or the process was stopped and resumed: an
 * overdue timer fires before any answer that arrived meanwhile is seen, so an executor meets the abort before it can
 * start its next outside write).
 */
import type { Database } from '../db/database.ts'
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { claimWorkItem } from './sql/claim-work-item.ts'
import { extendLease } from './sql/extend-lease.ts'
import { releaseLease } from './sql/release-lease.ts'

export interface Lease {
  readonly workItemId: string
  readonly epoch: bigint
  readonly signal: AbortSignal
  /** Gives the lease back, if it still is ours, and stops the heartbeat. */
  release(): Promise<void>
  /** Stops the heartbeat only: the lease was given back by the write that ended the work. */
  end(): void
}

export class LeaseLost extends WorkQueueError {
  constructor(workItemId: string) {
    super('lease_lost', `The lease of work item ${workItemId} was lost; whoever holds it now goes on with the work.`, {
      failure: 'transient',
    })
  }
}

/** Claims an item; null when someone else holds it or it is not active. */
export async function claim(db: Database, log: Log, workItemId: string, leaseMs: number): Promise<Lease | null> {
  const askedAt = performance.now()
  const epoch = await claimWorkItem(db, workItemId, leaseMs)
  return epoch === null ? null : keepAlive(db, log, workItemId, epoch, leaseMs, askedAt)
}

/** `since`: when the last successful write of the lease was sent, on the monotonic clock. */
function keepAlive(db: Database, log: Log, workItemId: string, epoch: bigint, leaseMs: number, since: number): Lease {
  const controller = new AbortController()
  const lose = () => controller.abort(new LeaseLost(workItemId))
  const remaining = (from: number) => Math.max(0, leaseMs - (performance.now() - from))
  let expiry = setTimeout(lose, remaining(since))

  const beat = async () => {
    const sentAt = performance.now()
    try {
      if (!(await extendLease(db, workItemId, epoch, leaseMs))) return lose()
      clearTimeout(expiry)
      if (!controller.signal.aborted && !ended) expiry = setTimeout(lose, remaining(sentAt))
    } catch (error) {
      // The next beat may succeed; if none does, `expiry` ends it.
      log.warn({ work_item_id: workItemId, error: messageOf(error) }, 'a heartbeat failed')
    }
  }
  let ended = false
  const heartbeat = setInterval(() => void beat(), leaseMs / 3)

  const end = () => {
    ended = true
    clearInterval(heartbeat)
    clearTimeout(expiry)
  }
  return {
    workItemId,
    epoch,
    signal: controller.signal,
    end,
    async release() {
      end()
      await releaseLease(db, workItemId, epoch)
    },
  }
}
