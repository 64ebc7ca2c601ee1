/**
 * The short form of the chaos scripts, for every `npm test`: one seeded schedule of faults for the queue, a few kills of
 * PostgreSQL under load, the whole product under a failing GitLab, and events that arrive badly or not at all. `npm run chaos`
 * is the long form, with figures.
 */
import { expect, test } from 'vitest'
import { durability } from './durability.ts'
import { events } from './events.ts'
import { schedules } from './schedules.ts'
import { services } from './services.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'

/** Fixed, so that a failure repeats. */
const SEED = 3
const PATIENCE_MS = 240_000

test.concurrent.each<[string, (options: ChaosOptions) => Promise<Verdict>, number]>([
  ['every errand ends where the model says, whatever is killed, stopped, cut off or restarted', schedules, 0.1],
  ['whatever was acknowledged is there after PostgreSQL was killed', durability, 0.1],
  ['every change is merged, by one merge request with one commit, in spite of all', services, 0.02],
  [
    'every change is merged, however badly events arrive or whether they do, and no event is lost by a kill',
    events,
    0.02,
  ],
])('%s', { timeout: PATIENCE_MS }, async (_title, script, scale) => {
  const verdict = await script({ seed: SEED, scale })
  expect(verdict).toMatchObject({ ok: true })
})
