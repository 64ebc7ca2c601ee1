/**
 * Leases: the right of one process to work on one item for a while. A claim takes it, a heartbeat keeps it, and the epoch that
 * the claim drew is the proof in every later write. `leased_until` alone could not fence: a worker that slept through its
 * lease would still believe in it. Decisions 0006 and 0051.
 *
 * A lease's signal is aborted the moment it can no longer be trusted: the heartbeat was refused, or none has succeeded for a
 * whole lease by this process's own monotonic clock (the database is gone, or the process was stopped and resumed). A resumed
 * process may see an answer that arrived meanwhile before it sees that a timer is overdue. So whoever is about to write outside
 * asks for the signal anew, which looks at the clock: a write may land late when the process is stopped right behind that look,
 * which nothing on this side can prevent, but none begins late.
 */
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { Heartbeat } from './sql/extend-leases.ts'

export interface Lease {
  readonly workItemId: string
  readonly epoch: bigint
  /** It can no longer be trusted, or the process can wait no longer: nothing more may be done under it. */
  readonly isLost: boolean
  /** Aborted at that moment, or when the action is interrupted. Ask for it anew before each outside write. */
  readonly signal: AbortSignal
  /** The action has had its time: aborts the signal, and keeps the lease for the record of it. */
  interrupt(reason: Error): void
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
  /** Interrupts what is done with these items. */
  lose(workItemIds: ReadonlySet<string>): void
  /** Interrupts everything that is done under a lease. */
  loseAll(): void
  stop(): void
}

export interface LeaseKeeperDependencies {
  readonly extend: (leases: readonly Lease[], leaseMs: number) => Promise<readonly Heartbeat[]>
  readonly leaseMs: number
  readonly log: Log
}

/** Of a lease; how often its keeper looks for leases that have run out. They are given up that much too early. */
const LOOKS = 24

/** One heartbeat for all leases of the process, every third of a lease. */
export function createLeaseKeeper({ extend, leaseMs, log }: LeaseKeeperDependencies): LeaseKeeper {
  const held = new Set<HeldLease>()
  let beating = false
  const heartbeat = setInterval(() => void beat(), leaseMs / 3)
  const expiry = setInterval(loseExpired, leaseMs / LOOKS)

  async function beat(): Promise<void> {
    // A beat that hangs is not joined by a second one; if it never ends, the leases expire by the process's clock.
    if (beating || held.size === 0) return
    beating = true
    const leases = [...held]
    const sentAt = performance.now()
    try {
      const answers = await extend(leases, leaseMs)
      leases.forEach((lease, index) => {
        if (answers[index] === 'extended') lease.trustedAt = sentAt
        if (answers[index] === 'lost') lease.lose()
      })
    } catch (error) {
      // The next beat may succeed; if none does, the leases expire.
      log.warn({ leases: leases.length, error: messageOf(error) }, 'a heartbeat failed')
    } finally {
      beating = false
    }
  }

  /** For those who only wait; who acts asks for `isLost` or the signal, and need not be waited for. */
  function loseExpired(): void {
    const oldest = performance.now() - leaseMs * (1 - 1 / LOOKS)
    for (const lease of held) if (lease.trustedAt < oldest) lease.lose()
  }

  return {
    hold(workItemId, epoch, askedAt) {
      const lease = new HeldLease(workItemId, epoch, askedAt, leaseMs, held)
      held.add(lease)
      return lease
    },
    lose(ids) {
      for (const lease of held) if (ids.has(lease.workItemId)) lease.lose()
    },
    loseAll() {
      for (const lease of held) lease.lose()
    },
    stop() {
      clearInterval(heartbeat)
      clearInterval(expiry)
    },
  }
}

class HeldLease implements Lease {
  readonly workItemId: string
  readonly epoch: bigint
  /** When the last successful write of this lease was sent. */
  trustedAt: number
  readonly #held: Set<HeldLease>
  readonly #leaseMs: number
  #isLost = false
  #controller: AbortController | null = null

  constructor(workItemId: string, epoch: bigint, trustedAt: number, leaseMs: number, held: Set<HeldLease>) {
    this.workItemId = workItemId
    this.epoch = epoch
    this.trustedAt = trustedAt
    this.#held = held
    this.#leaseMs = leaseMs
  }

  /** By the clock as well: whoever asks first after a standstill must not be told what was true before it. */
  get isLost(): boolean {
    if (!this.#isLost && performance.now() - this.trustedAt > this.#leaseMs) this.lose()
    return this.#isLost
  }

  /** Made for those who ask: most short actions never do. */
  get signal(): AbortSignal {
    const isLost = this.isLost
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (isLost) this.#controller.abort(new LeaseLost(this.workItemId))
    }
    return this.#controller.signal
  }

  interrupt(reason: Error): void {
    this.#controller?.abort(reason)
  }

  lose(): void {
    this.#isLost = true
    this.#held.delete(this)
    this.#controller?.abort(new LeaseLost(this.workItemId))
  }

  end(): void {
    this.#held.delete(this)
  }
}
