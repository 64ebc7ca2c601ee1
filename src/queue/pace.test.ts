import { expect, test } from 'vitest'
import { createPace } from './pace.ts'

function paceOf(...actions: readonly number[]) {
  const pace = createPace(10)
  for (const milliseconds of actions) pace.took(milliseconds)
  return pace
}

const many = (milliseconds: number) => Array.from({ length: 100 }, () => milliseconds)

test('a process holds no more than it has workers before it knows its actions, and while they are long', () => {
  expect(paceOf().target()).toBe(10)
  expect(paceOf(0.1, 0.1, 0.1).target()).toBe(10)
  expect(paceOf(...many(1_000)).target()).toBe(10)
})

test('it holds what begins within a tenth of a second, and never more than five hundred', () => {
  expect(paceOf(...many(20)).target()).toBe(50)
  expect(paceOf(...many(0.001)).target()).toBe(500)
  expect(paceOf(...many(0)).target()).toBe(500)
})

test('one long action among short ones is felt at once', () => {
  expect(paceOf(...many(0.1), 10_000).target()).toBe(10)
})
