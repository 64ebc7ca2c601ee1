import { describe, expect, test } from 'vitest'
import { activeFreeze, freezeSchema } from './freeze.ts'

const frozen = (window: Readonly<Record<string, string>>, now: string) =>
  activeFreeze([freezeSchema.parse(window)], new Date(now)) !== null

describe('a weekly freeze', () => {
  const weekend = { from: 'fri 16:00', to: 'mon 08:00' }

  test.each<[string, string, boolean]>([
    ['a minute before', '2026-03-06T15:59:00Z', false],
    ['as it begins', '2026-03-06T16:00:00Z', true],
    ['in the middle, over the end of the week', '2026-03-08T00:00:00Z', true],
    ['a minute before its end', '2026-03-09T07:59:59Z', true],
    ['as it ends', '2026-03-09T08:00:00Z', false],
    ['in the week', '2026-03-11T12:00:00Z', false],
  ])('%s', (_title, now, expected) => {
    expect(frozen(weekend, now)).toBe(expected)
  })

  test('goes by the clock of its time zone, in summer and in winter', () => {
    const window = { ...weekend, time_zone: 'Europe/Prague' }
    expect(frozen(window, '2026-03-06T15:00:00Z')).toBe(true)
    expect(frozen(window, '2026-03-06T14:59:00Z')).toBe(false)
    expect(frozen(window, '2026-07-03T14:00:00Z')).toBe(true)
    expect(frozen(window, '2026-07-03T13:59:00Z')).toBe(false)
  })

  test('of one day', () => {
    const window = { from: 'wed 12:00', to: 'wed 13:00' }
    expect(frozen(window, '2026-03-11T12:30:00Z')).toBe(true)
    expect(frozen(window, '2026-03-11T13:00:00Z')).toBe(false)
  })
})

test('a freeze between two instants, whatever their zones', () => {
  const window = { from: '2026-12-20T00:00:00+01:00', to: '2027-01-04T08:00:00Z' }
  expect(frozen(window, '2026-12-19T22:59:59Z')).toBe(false)
  expect(frozen(window, '2026-12-19T23:00:00Z')).toBe(true)
  expect(frozen(window, '2027-01-04T08:00:00Z')).toBe(false)
})

test.each<[string, Readonly<Record<string, string>>]>([
  ['a day without a time', { from: 'fri', to: 'mon 08:00' }],
  ['a day that is none', { from: 'fry 16:00', to: 'mon 08:00' }],
  ['an hour that is none', { from: 'fri 24:00', to: 'mon 08:00' }],
  ['two kinds at once', { from: 'fri 16:00', to: '2027-01-04T08:00:00Z' }],
  ['an end before the beginning', { from: '2027-01-04T08:00:00Z', to: '2026-01-04T08:00:00Z' }],
  ['no length', { from: 'fri 16:00', to: 'fri 16:00' }],
  ['an unknown time zone', { from: 'fri 16:00', to: 'mon 08:00', time_zone: 'Prague' }],
])('%s is refused', (_title, window) => {
  expect(freezeSchema.safeParse(window).success).toBe(false)
})
