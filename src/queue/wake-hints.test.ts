import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { silentLog } from '../lib/log.ts'
import { createWakeHints } from './wake-hints.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function hintsOf(enabled = true) {
  const said: boolean[] = []
  const hints = createWakeHints({
    enabled,
    log: silentLog,
    intervalMs: 10,
    notify: async (anywhere) => void said.push(anywhere),
  })
  return { hints, said, sent: () => said.length }
}

test('the first hint goes at once, and all that come within the interval are one more after it', () => {
  const { hints, sent } = hintsOf()
  for (let count = 0; count < 100; count += 1) hints.send()
  expect(sent()).toBe(1)
  vi.advanceTimersByTime(10)
  expect(sent()).toBe(2)
  vi.advanceTimersByTime(1_000)
  expect(sent()).toBe(2)
})

test('a hint rides on a statement only when none was given a moment ago; the others are sent later', () => {
  const { hints, sent } = hintsOf()
  expect(hints.ride()).toBe(true)
  expect(hints.ride()).toBe(false)
  expect(sent()).toBe(0)
  vi.advanceTimersByTime(10)
  expect(sent()).toBe(1)
})

test('nothing is sent where nobody listens, and what is owed at the stop goes then', async () => {
  const off = hintsOf(false)
  off.hints.send()
  expect(off.hints.ride()).toBe(false)
  expect(off.sent()).toBe(0)

  const { hints, sent } = hintsOf()
  hints.send()
  const owing = hintsOf()
  owing.hints.send()
  owing.hints.send()
  await owing.hints.stop()
  expect(owing.sent()).toBe(2)
  await hints.stop()
  vi.advanceTimersByTime(1_000)
  expect(sent()).toBe(1)
})

test('what was let go of is said, and once', () => {
  const { hints, said } = hintsOf()
  hints.send()
  hints.sendReleased()
  hints.send()
  vi.advanceTimersByTime(10)
  hints.send()
  vi.advanceTimersByTime(10)
  expect(said).toEqual([false, true, false])
})
