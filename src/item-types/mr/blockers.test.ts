import { describe, expect, test } from 'vitest'
import { mrSnapshot, NOON } from '../../../test/support/mr-item.ts'
import { findBlockers } from './blockers.ts'
import type { MrDetail } from './detail.ts'

const AT_REST = { needs_mr: 'false', needs_reconcile: new Date(NOON.getTime() + 60_000) } as const

function codes(detail: Partial<MrDetail>): readonly string[] {
  return findBlockers(mrSnapshot({ detail, dimensions: AT_REST })).map(({ code }) => code)
}

describe('findBlockers', () => {
  test.each<[string, Partial<MrDetail>, string]>([
    ['a running pipeline', { headPipelineStatus: 'running' }, 'waiting_for_pipeline'],
    ['no pipeline', { headPipelineStatus: null }, 'waiting_for_pipeline'],
    ['a failed pipeline', { headPipelineStatus: 'failed' }, 'pipeline_not_green'],
    ['a skipped pipeline', { headPipelineStatus: 'skipped' }, 'pipeline_not_green'],
    ['a manual pipeline', { headPipelineStatus: 'manual' }, 'pipeline_manual'],
    ['a green pipeline', { headPipelineStatus: 'success' }, 'merging'],
    ['a refused merge', { mergeRefusal: '405 x', headPipelineStatus: 'success' }, 'merge_refused'],
    ['auto_merge off', { autoMerge: false }, 'waiting_for_merge'],
    ['a missing approval', { detailedMergeStatus: 'not_approved' }, 'waiting_for_approval'],
    ['a conflict', { detailedMergeStatus: 'conflict' }, 'conflict'],
    ['a status of a newer GitLab', { detailedMergeStatus: 'moon_phase' }, 'merge_status'],
    ["somebody else's commits", { headSha: 'f'.repeat(40) }, 'foreign_commits'],
    ['no merge request yet', { mrIid: null }, 'writing'],
  ])('names %s', (_title, detail, code) => {
    expect(codes(detail)).toEqual([code])
  })

  test('shows an unknown status in its own words', () => {
    const [blocker] = findBlockers(mrSnapshot({ detail: { detailedMergeStatus: 'moon_phase' }, dimensions: AT_REST }))
    expect(blocker?.message).toContain('moon_phase')
  })

  test('puts a failure that is tried again in front', () => {
    const lastError = { code: 'gitlab_timeout', message: 'GitLab did not answer', at: NOON.toISOString() }
    const found = findBlockers(mrSnapshot({ item: { lastError }, dimensions: AT_REST }))
    expect(found.map(({ code }) => code)).toEqual(['gitlab_timeout', 'waiting_for_pipeline'])
  })

  test('says why a failed item failed, and nothing of what it waited for', () => {
    const lastError = { code: 'branch_not_owned', message: 'no', at: NOON.toISOString() }
    const found = findBlockers(mrSnapshot({ item: { phase: 'failed', resolution: 'x', lastError } }))
    expect(found).toMatchObject([{ code: 'branch_not_owned', since: NOON }])
  })

  test.each(['completed', 'cancelled'] as const)('finds none on a %s item', (phase) => {
    expect(findBlockers(mrSnapshot({ item: { phase, resolution: 'merged' } }))).toEqual([])
  })
})
