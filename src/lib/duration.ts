/**
 * Durations as people write them in the configuration: `500ms`, `30s`, `5m`, `24h`, `7d`. Inside the program a duration is
 * a number of milliseconds, and its name ends in `Ms`.
 */
import { z } from 'zod'

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Milliseconds, or null when the text is no duration. */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text)
  if (!match) return null
  const [, amount, unit] = match
  return Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS]
}

const EXPECTED = 'expected a duration such as 500ms, 30s, 5m or 24h'

/** A configuration value: reads `30s` and answers 30000. */
export const durationSchema = z.string({ error: EXPECTED }).transform((text, context) => {
  const milliseconds = parseDuration(text)
  if (milliseconds !== null) return milliseconds
  context.addIssue({ code: 'custom', message: EXPECTED })
  return z.NEVER
})
