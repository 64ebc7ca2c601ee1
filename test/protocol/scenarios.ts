/** Who meets whom. The small ones belong to `npm test`, all of them to `node test/protocol/run.ts`. */
import type { Scenario } from './explorer.ts'

const EVENT_1 = { role: 'inserter', name: 'event-1' } as const
const EVENT_2 = { role: 'inserter', name: 'event-2' } as const
const WORKER_1 = { role: 'worker', name: 'worker-1' } as const
const WORKER_2 = { role: 'worker', name: 'worker-2' } as const
const SWEEPER = { role: 'sweeper', name: 'sweeper' } as const
const CALLER = { role: 'caller', name: 'caller' } as const

const base = { afterEvent: 'rests', expiries: 1 } as const

export const SCENARIOS = {
  pair: { ...base, actors: [EVENT_1, WORKER_1] },
  workers: { ...base, actors: [WORKER_1, WORKER_2] },
  /** The exit rides on the record of an action. */
  acting: { ...base, afterEvent: 'acts', actors: [EVENT_1, WORKER_1] },
  caller: { ...base, actors: [EVENT_1, WORKER_1, CALLER] },
  small: { ...base, actors: [EVENT_1, WORKER_1, SWEEPER] },
  reduced: { ...base, actors: [EVENT_1, WORKER_1, WORKER_2, SWEEPER] },
  events: { ...base, actors: [EVENT_1, EVENT_2, WORKER_1, SWEEPER] },
  full: { ...base, actors: [EVENT_1, EVENT_2, WORKER_1, WORKER_2, SWEEPER] },
} satisfies Readonly<Record<string, Scenario>>
