import { expect, test } from 'vitest'
import { createLeaseKeeper } from './lease.ts'

const LEASE_MS = 50

test('after a standstill the signal that is asked for is aborted, before any timer could have run', () => {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const keeper = createLeaseKeeper({ extend: () => new Promise(() => {}), leaseMs: LEASE_MS, log })
  try {
    const lease = keeper.hold('an item', 1n, performance.now())
    const kept = lease.signal
    expect(kept.aborted).toBe(false)
    // What SIGSTOP does to a process: its clock goes on, its timers do not.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LEASE_MS + 10)
    expect(lease.signal.aborted).toBe(true)
    expect(kept.reason).toMatchObject({ code: 'lease_lost' })
  } finally {
    keeper.stop()
  }
})
