import { describe, expect, test } from 'vitest'
import { mrSnapshot, NOON } from '../../../test/support/mr-item.ts'
import { findBlockers } from './blockers.ts'
import type { MrDetail, Wait } from './detail.ts'

const AT_REST = { needs_mr: 'false', needs_reconcile: new Date(NOON.getTime() + 60_000) } as const
const SINCE = '2026-03-02T09:30:00.000Z'
const APPROVAL: Wait = {
  code: 'waiting_for_approval',
  message: 'an approval is missing',
  clearedBy: 'a reviewer',
  since: SINCE,
}

const blockersOf = (detail: Partial<MrDetail>) => findBlockers(mrSnapshot({ detail, dimensions: AT_REST }))

describe('findBlockers', () => {
  test('names what the last look found, since when, and who can clear it', () => {
    const { since: _, ...words } = APPROVAL
    expect(blockersOf({ waitsFor: APPROVAL })).toEqual([{ ...words, since: new Date(SINCE) }])
  })

  test.each<[string, Partial<MrDetail>, string]>([
    ['is to be written', { mrIid: null, waitsFor: APPROVAL }, 'writing'],
    ['is to be looked at', { waitsFor: null }, 'looking'],
  ])('of an item that %s, the service itself is what it waits for', (_title, detail, code) => {
    expect(blockersOf(detail)).toMatchObject([{ code, clearedBy: 'the service' }])
  })

  test('a content that is to be written comes before what the old one waited for', () => {
    const found = findBlockers(mrSnapshot({ detail: { waitsFor: APPROVAL }, dimensions: { needs_mr: 'true' } }))
    expect(found.map(({ code }) => code)).toEqual(['writing'])
  })

  test('names the jobs that failed, whatever else it waits for, as long as that pipeline is the newest', () => {
    const reason = { code: 'pipeline_not_green', message: 'job unit failed: script_failure', clearedBy: 'CI' }
    const failed = { headPipelineId: 11, headPipelineStatus: 'failed', waitsFor: APPROVAL } as const
    const ciFinding = { pipelineId: 11, judged: '', state: 'left', reason } as const
    const codesOf = (detail: Partial<MrDetail>) => blockersOf(detail).map(({ code }) => code)
    expect(codesOf({ ...failed, ciFinding })).toEqual(['waiting_for_approval', 'pipeline_not_green'])
    expect(codesOf({ ...failed, ciFinding, headPipelineId: 12 })).toEqual(['waiting_for_approval'])
    const said = { ...APPROVAL, ...reason }
    expect(codesOf({ ...failed, ciFinding, waitsFor: said })).toEqual(['pipeline_not_green'])
  })

  test('puts a failure that is tried again in front', () => {
    const lastError = { code: 'gitlab_timeout', message: 'GitLab did not answer', at: NOON.toISOString() }
    const found = findBlockers(mrSnapshot({ item: { lastError }, detail: { waitsFor: APPROVAL }, dimensions: AT_REST }))
    expect(found.map(({ code }) => code)).toEqual(['gitlab_timeout', 'waiting_for_approval'])
  })

  test('says why a failed item failed, and nothing of what it waited for', () => {
    const lastError = { code: 'branch_not_owned', message: 'no', at: NOON.toISOString() }
    const item = { phase: 'failed', resolution: 'x', lastError } as const
    const found = findBlockers(mrSnapshot({ item, detail: { waitsFor: APPROVAL } }))
    expect(found).toMatchObject([{ code: 'branch_not_owned', since: NOON }])
  })

  test.each(['completed', 'cancelled'] as const)('finds none on a %s item', (phase) => {
    const item = { phase, resolution: 'merged' }
    expect(findBlockers(mrSnapshot({ item, detail: { waitsFor: APPROVAL } }))).toEqual([])
  })
})
