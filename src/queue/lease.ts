/**
 * Leases: the right of one process to work on one item for a while. A claim takes it, a heartbeat keeps it, and the epoch that
 * the claim drew is the proof in every later write. `leased_until` alone could not fence: a worker that slept through its
 * lease would still believe in it. Decisions 0006 and 0051.
 *
 * A lease's signal is aborted the moment it can no longer be trusted: the heartbeat was refused, or none has succeeded for a
 * whole lease by this process's own monotonic clock (the database is gone, or the process was stopped and resumed: an
 * overdue timer fires before any answer that arrived meanwhile is seen, so an executor meets the abort before it can
 * start its next outside write).
 */
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { Heartbeat } from './sql/extend-leases.ts'

export interface Lease {
  readonly workItemId: string
  readonly epoch: bigint
  readonly signal: AbortSignal
  /** No heartbeat any more: the lease was given back, or is left to run out. */
  end(): void
}

export class LeaseLost extends WorkQueueError {
  constructor(workItemId: string) {
    super('lease_lost', `The lease of work item ${workItemId} was lost; whoever holds it now goes on with the work.`, {
      failure: 'transient',
    })
  }
}

export interface LeaseKeeper {
  /** `askedAt`: when the claim was sent, on the monotonic clock; the lease is at least that old. */
  hold(workItemId: string, epoch: bigint, askedAt: number): Lease
  stop(): void
}

export interface LeaseKeeperDependencies {
  readonly extend: (leases: readonly Lease[], leaseMs: number) => Promise<readonly Heartbeat[]>
  readonly leaseMs: number
  readonly log: Log
}

interface Held extends Lease {
  readonly lose: () => void
  /** When the last successful write of this lease was sent. */
  trust(since: number): void
}

/** One heartbeat for all leases of the process, every third of a lease. */
export function createLeaseKeeper({ extend, leaseMs, log }: LeaseKeeperDependencies): LeaseKeeper {
  const held = new Set<Held>()
  let beating = false
  const heartbeat = setInterval(() => void beat(), leaseMs / 3)

  async function beat(): Promise<void> {
    // A beat that hangs is not joined by a second one; if it never ends, the leases expire by their own clocks.
    if (beating || held.size === 0) return
    beating = true
    const leases = [...held]
    const sentAt = performance.now()
    try {
      const answers = await extend(leases, leaseMs)
      leases.forEach((lease, index) => {
        if (answers[index] === 'extended') lease.trust(sentAt)
        if (answers[index] === 'lost') lease.lose()
      })
    } catch (error) {
      // The next beat may succeed; if none does, each lease's own clock ends it.
      log.warn({ leases: leases.length, error: messageOf(error) }, 'a heartbeat failed')
    } finally {
      beating = false
    }
  }

  return {
    hold(workItemId, epoch, askedAt) {
      const lease = createLease(workItemId, epoch, leaseMs, (ended) => held.delete(ended))
      lease.trust(askedAt)
      held.add(lease)
      return lease
    },
    stop: () => clearInterval(heartbeat),
  }
}

function createLease(workItemId: string, epoch: bigint, leaseMs: number, onEnd: (lease: Held) => void): Held {
  const controller = new AbortController()
  let ended = false
  let expiry: NodeJS.Timeout | undefined
  const lease: Held = {
    workItemId,
    epoch,
    signal: controller.signal,
    lose: () => controller.abort(new LeaseLost(workItemId)),
    trust(since) {
      clearTimeout(expiry)
      if (ended || controller.signal.aborted) return
      expiry = setTimeout(lease.lose, Math.max(0, leaseMs - (performance.now() - since)))
    },
    end() {
      ended = true
      clearTimeout(expiry)
      onEnd(lease)
    },
  }
  return lease
}
