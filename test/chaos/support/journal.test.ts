import { expect, test } from 'vitest'
import { type Effect, writesAfterLostLease } from './journal.ts'

const base = { worker: 'a', id: 'x', item: 'x', epoch: 1, action: 'run', sureAt: null, of: '' }
const retaken: readonly Effect[] = [
  { ...base, at: 10, what: 'begin' },
  { ...base, at: 30, what: 'begin', worker: 'b', epoch: 2 },
]

test.each<[string, Partial<Effect>, { begun: number; landed: number }]>([
  ['that did not make sure of its lease has begun late', {}, { begun: 1, landed: 0 }],
  ['that made sure when the lease was lost already has begun late', { sureAt: 35 }, { begun: 1, landed: 0 }],
  ['that was sure while nobody else had the item has only landed late', { sureAt: 25 }, { begun: 0, landed: 1 }],
  ['of the newest lease is not late', { epoch: 2 }, { begun: 0, landed: 0 }],
])('a write %s', (_title, write, expected) => {
  const { begun, landed } = writesAfterLostLease([...retaken, { ...base, at: 40, what: 'write', ...write }])
  expect({ begun: begun.length, landed: landed.length }).toEqual(expected)
})
