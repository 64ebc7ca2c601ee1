import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { backoffMs, retryInMs } from './backoff.ts'

const options = { baseMs: 1_000, maxMs: 300_000 }
const HIGHEST = 1 - Number.EPSILON
const failures = fc.integer({ min: 1, max: 10_000 })
const jitter = fc.double({ min: 0, max: HIGHEST, noNaN: true })
const asked = fc.option(fc.integer({ min: 0, max: 3_600_000 }), { nil: undefined })
const settings = fc
  .record({ baseMs: fc.integer({ min: 1, max: 60_000 }), maxMs: fc.integer({ min: 1, max: 3_600_000 }) })
  .map(({ baseMs, maxMs }) => ({ baseMs, maxMs: Math.max(baseMs, maxMs) }))

describe('backoff', () => {
  test('doubles its ceiling with every failure until the cap', () => {
    const waits = [1, 2, 3, 4, 20].map((count) => backoffMs(count, options, () => HIGHEST))
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 300_000])
  })

  test('lets nobody come back at once, however often something failed', () => {
    expect([1, 2, 20].map((count) => backoffMs(count, options, () => 0))).toEqual([100, 100, 100])
  })

  test('spreads evenly over the whole of its range', () => {
    const waits = Array.from({ length: 1_000 }, (_, index) => backoffMs(5, options, () => index / 1_000))
    const quarters = Map.groupBy(waits, (wait) => Math.floor((4 * (wait - 100)) / 15_900))
    expect([...quarters.values()].map(({ length }) => length)).toEqual([250, 250, 250, 250])
  })
})

describe('the next try', () => {
  test('is a backoff when nobody asked for a wait', () => {
    fc.assert(
      fc.property(failures, settings, jitter, (count, given, drawn) => {
        expect(retryInMs(count, undefined, given, () => drawn)).toBe(backoffMs(count, given, () => drawn))
      }),
    )
  })

  test('never comes before what was asked for, nor at that instant, and the rest is capped', () => {
    fc.assert(
      fc.property(failures, asked, settings, jitter, (count, retryAfterMs, given, drawn) => {
        const extra = retryInMs(count, retryAfterMs, given, () => drawn) - (retryAfterMs ?? 0)
        expect(extra).toBeGreaterThanOrEqual(given.baseMs / 10)
        expect(extra).toBeLessThanOrEqual(given.maxMs)
      }),
    )
  })

  test('never gets sooner with more failures or a longer wait that was asked for', () => {
    fc.assert(
      fc.property(failures, failures, asked, asked, settings, jitter, (a, b, c, d, given, drawn) => {
        const [few, many] = [Math.min(a, b), Math.max(a, b)]
        const [short, long] = [Math.min(c ?? 0, d ?? 0), Math.max(c ?? 0, d ?? 0)]
        const random = () => drawn
        expect(retryInMs(many, long, given, random)).toBeGreaterThanOrEqual(retryInMs(few, short, given, random))
      }),
    )
  })

  test('of ten thousand that were told the same instant is spread over seconds, not over one', () => {
    const waits = Array.from({ length: 10_000 }, (_, index) => retryInMs(1, 60_000, options, () => index / 10_000))
    const seconds = Map.groupBy(waits, (wait) => Math.floor(wait / 1_000))
    expect(Math.max(...[...seconds.values()].map(({ length }) => length))).toBeLessThan(750)
  })
})
