import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { backoffMs } from './backoff.ts'

const options = { baseMs: 1_000, maxMs: 300_000 }

describe('backoff', () => {
  test('grows with every failure until the cap', () => {
    const waits = [1, 2, 3, 4, 20].map((failures) => backoffMs(failures, options, () => 1))
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 300_000])
  })

  test('stays between half the ceiling and the cap, however often something failed', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (failures, jitter) => {
          const wait = backoffMs(failures, options, () => jitter)
          expect(wait).toBeGreaterThanOrEqual(options.baseMs / 2)
          expect(wait).toBeLessThanOrEqual(options.maxMs)
        },
      ),
    )
  })
})
