import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type GivenDimensions, mrSnapshot, NOON } from '../../../test/support/mr-item.ts'
import { PHASES } from '../../queue/work-item.ts'
import { decide } from './decider.ts'
import { MR_DIMENSIONS } from './dimensions.ts'

const LATER = new Date(NOON.getTime() + 1)
const settled = { needs_mr: 'false', needs_reconcile: 'false' } as const

describe('decide', () => {
  test.each<[string, GivenDimensions, string | null]>([
    ['opens the merge request first', {}, 'ensure_mr'],
    ['reconciles when that is done', { needs_mr: 'false' }, 'reconcile_mr'],
    ['writes changed content before it reconciles', { needs_mr: 'true', needs_reconcile: 'true' }, 'ensure_mr'],
    ['cancels before anything else', { needs_mr: 'true', needs_cancel: 'true' }, 'cancel_mr'],
    ['does not cancel unasked', settled, null],
    ['lets a deferred look sleep', { ...settled, needs_reconcile: LATER }, null],
    ['wakes a deferred look at its time', { ...settled, needs_reconcile: NOON }, 'reconcile_mr'],
    ['reconciles while a write is deferred', { needs_mr: LATER, needs_reconcile: 'true' }, 'reconcile_mr'],
    [
      'looks at the pipeline again before it runs jobs again',
      { needs_mr: 'false', needs_reconcile: 'true', needs_ci_retry: 'true' },
      'reconcile_mr',
    ],
    ['runs failed jobs again when that is needed', { ...settled, needs_ci_retry: 'true' }, 'retry_ci'],
    ['knows nothing of dimensions it does not declare', { ...settled, needs_coffee: 'true' }, null],
  ])('%s', (_title, dimensions, action) => {
    expect(decide(mrSnapshot({ dimensions }))).toBe(action)
  })

  const anyDimensions = fc.dictionary(
    fc.constantFrom(...MR_DIMENSIONS.map(({ name }) => name), 'needs_other'),
    fc.oneof(fc.constantFrom('true' as const, 'false' as const), fc.constantFrom(NOON, LATER)),
  )

  test('never acts on a terminal item', () => {
    const terminal = fc.constantFrom(...PHASES.filter((phase) => phase !== 'active'))
    fc.assert(
      fc.property(anyDimensions, terminal, (dimensions, phase) => {
        expect(decide(mrSnapshot({ dimensions, item: { phase, resolution: 'x' } }))).toBeNull()
      }),
    )
  })

  test('is total, and decides the same twice', () => {
    fc.assert(
      fc.property(anyDimensions, (dimensions) => {
        const snapshot = mrSnapshot({ dimensions })
        const action = decide(snapshot)
        expect(decide(snapshot)).toBe(action)
        expect([null, ...MR_DIMENSIONS.map((declared) => declared.action)]).toContain(action)
      }),
    )
  })
})
