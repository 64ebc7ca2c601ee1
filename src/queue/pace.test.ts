import { expect, test } from 'vitest'
import { createPace } from './pace.ts'

function paceOf(actions: number, eachMs: number) {
  let now = 0
  const pace = createPace(10, () => now)
  for (let action = 0; action < actions; action += 1) {
    now += eachMs
    pace.ended()
  }
  return {
    pace,
    pass(ms: number) {
      now += ms
    },
  }
}

test('a process holds no more than it has workers before it knows its pace, and while its actions are long', () => {
  expect(paceOf(0, 1).pace.target()).toBe(10)
  expect(paceOf(31, 0.1).pace.target()).toBe(10)
  expect(paceOf(200, 100).pace.target()).toBe(10)
})

test('it holds what begins within a tenth of a second, and never more than five hundred', () => {
  expect(paceOf(200, 2).pace.target()).toBeGreaterThanOrEqual(50)
  expect(paceOf(200, 2).pace.target()).toBeLessThan(55)
  expect(paceOf(200, 0.01).pace.target()).toBe(500)
})

test('it forgets a quick pace when nothing has ended for a while', () => {
  const { pace, pass } = paceOf(200, 0.5)
  pass(10_000)
  expect(pace.target()).toBe(10)
})
