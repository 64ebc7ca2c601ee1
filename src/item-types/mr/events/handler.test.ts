import { describe, expect, test } from 'vitest'
import { type GivenDimensions, mrSnapshot, NOON } from '../../../../test/support/mr-item.ts'
import { createHandleEvent } from './handler.ts'

const handle = createHandleEvent({ pipeline_run_url: undefined, pipeline_poll: 30_000 })
const inMs = (ms: number) => new Date(NOON.getTime() + ms)

function pushTo(branch: string, dimensions: GivenDimensions) {
  const body = { object_kind: 'push', ref: `refs/heads/${branch}`, after: 'c'.repeat(40) }
  return handle({ id: '1', eventType: 'push', eventAt: NOON, body }, mrSnapshot({ dimensions })).dimensions
}

describe('a push', () => {
  test('to the source branch is looked at now', () => {
    expect(pushTo('bot/change', { needs_reconcile: inMs(1_000) })).toEqual([
      { dimension: 'needs_reconcile', status: 'true', note: 'a push event' },
    ])
  })

  test('to the target is looked at soon, since each merge of others is one', () => {
    const soon = [{ dimension: 'needs_reconcile', status: 'true', note: 'a push event', deferMs: 30_000 }]
    expect(pushTo('main', { needs_reconcile: inMs(300_000) })).toEqual(soon)
    expect(pushTo('main', { needs_reconcile: 'false' })).toEqual(soon)
  })

  test.each<[string, GivenDimensions]>([
    ['soon', { needs_reconcile: inMs(30_000) }],
    ['now', { needs_reconcile: 'true' }],
    ['for the first time', {}],
  ])('to the target puts nothing off that is looked at %s anyway', (_title, dimensions) => {
    expect(pushTo('main', dimensions)).toEqual([])
  })
})
