import { describe, expect, test } from 'vitest'
import { parseDuration } from './duration.ts'

describe('a duration', () => {
  test.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['24h', 86_400_000],
    ['0s', 0],
  ])('reads %s', (text, milliseconds) => expect(parseDuration(text)).toBe(milliseconds))

  test.each(['30', 's', '1.5s', '-1s', '5 m', '1h30m', ''])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeNull()
  })
})
