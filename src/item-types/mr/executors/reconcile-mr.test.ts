import { describe, expect, test } from 'vitest'
import { type Given, MERGED_AT, OTHER, pipeline, reconcile, SHA } from '../../../../test/support/reconcile-once.ts'
import type { GitLabMergeAnswer } from '../../../gitlab/port.ts'

describe('the end', () => {
  test('merged by anybody completes the item with what landed', async () => {
    const { phase, resolution, detail } = await reconcile({
      mr: { state: 'merged', mergeCommitSha: OTHER, mergedAt: MERGED_AT },
    })
    expect([phase, resolution]).toEqual(['completed', 'merged'])
    expect(detail).toMatchObject({ mergeCommitSha: OTHER, mergedAt: new Date(MERGED_AT) })
  })

  test('a fast-forward lands the head itself', async () => {
    const { detail } = await reconcile({ mr: { state: 'merged', mergeCommitSha: null, mergedAt: MERGED_AT } })
    expect(detail.mergeCommitSha).toBe(SHA)
  })

  test('closed cancels the item', async () => {
    const { phase, resolution } = await reconcile({ mr: { state: 'closed' } })
    expect([phase, resolution]).toEqual(['cancelled', 'closed'])
  })

  test('a merge request that is gone is made again', async () => {
    const { phase, rewrite, detail } = await reconcile({ mr: null })
    expect({ phase, rewrite, mrIid: detail.mrIid }).toEqual({ phase: 'active', rewrite: true, mrIid: null })
  })
})

describe('proof before merge', () => {
  test.each<[string, Given, boolean]>([
    ['a green pipeline of our commit', { mr: { headPipeline: pipeline('success') } }, true],
    ['a green pipeline of another commit', { mr: { headPipeline: pipeline('success', OTHER) } }, false],
    ['no pipeline', {}, false],
    ...['created', 'pending', 'running', 'failed', 'canceled', 'skipped', 'manual', 'scheduled', 'moonlight'].map(
      (status): [string, Given, boolean] => [
        `a pipeline that is ${status}`,
        { mr: { headPipeline: pipeline(status) } },
        false,
      ],
    ),
    [
      'a pipeline that failed although none is required',
      { mr: { headPipeline: pipeline('failed') }, requirePipeline: false },
      false,
    ],
    ['no pipeline for long where none is required', { requirePipeline: false, detail: { unsettledLooks: 4 } }, true],
    ['no pipeline yet where none is required', { requirePipeline: false }, false],
    ['auto_merge off', { mr: { headPipeline: pipeline('success') }, detail: { autoMerge: false } }, false],
  ])('%s', async (_title, given, merged) => {
    const { merges, phase, lookAgainMs } = await reconcile(given)
    expect(merges).toHaveLength(merged ? 1 : 0)
    expect(phase).toBe(merged ? 'completed' : 'active')
    if (!merged) expect(lookAgainMs).toBeGreaterThan(0)
  })

  test('the pipeline of the commit before is not shown as that of this one', async () => {
    const { detail } = await reconcile({ mr: { headPipeline: pipeline('success', OTHER) } })
    expect(detail).toMatchObject({ headPipelineId: null, headPipelineStatus: null })
  })

  test('a change whose path is blocked by now is not merged, however green', async () => {
    const policy = { block_paths: ['docs/**'] }
    const { merges, result } = await reconcile({ mr: { headPipeline: pipeline('success') }, policy })
    expect(merges).toEqual([])
    expect(result.outcome).toBe('failed_for_good')
  })

  test('a change of a project that was taken out of the configuration waits until it is back', async () => {
    const policy = { path: 'another/project' }
    const { merges, phase, detail, lookAgainMs } = await reconcile({
      mr: { headPipeline: pipeline('success') },
      policy,
    })
    expect({ merges, phase, code: detail.waitsFor?.code }).toEqual({
      merges: [],
      phase: 'active',
      code: 'project_not_configured',
    })
    expect(lookAgainMs).toBeGreaterThan(0)
  })

  test('the merge names the commit that was proven', async () => {
    const { merges } = await reconcile({ mr: { headPipeline: pipeline('success'), squash: true } })
    expect(merges).toEqual([{ sha: SHA, squash: true, removeSourceBranch: true }])
  })

  test.each([
    'not_approved',
    'requested_changes',
    'discussions_not_resolved',
    'draft_status',
    'ci_must_pass',
    'ci_still_running',
    'status_checks_must_pass',
    'merge_request_blocked',
    'a_status_of_tomorrow',
  ])('a status of %s is respected, and remembered as it is', async (detailedMergeStatus) => {
    const { merges, detail, lookAgainMs } = await reconcile({
      mr: { detailedMergeStatus, headPipeline: pipeline('success') },
    })
    expect(merges).toEqual([])
    expect(detail.detailedMergeStatus).toBe(detailedMergeStatus)
    expect(lookAgainMs).toBeGreaterThan(0)
  })

  test.each<GitLabMergeAnswer>([
    { merged: false, status: 405, message: '405 Method Not Allowed' },
    { merged: false, status: 406, message: 'Branch cannot be merged' },
    { merged: false, status: 409, message: 'SHA does not match HEAD of source branch' },
    { merged: false, status: 422, message: 'Branch cannot be merged' },
    { merged: false, status: 200, message: 'it is still locked' },
  ])('a merge that GitLab does not make ($status) is looked at again', async (answer) => {
    const { result, phase, lookAgainMs, detail } = await reconcile({
      mr: { headPipeline: pipeline('success') },
      answer,
    })
    expect(result).toEqual({ outcome: 'succeeded' })
    expect(phase).toBe('active')
    expect(lookAgainMs).toBe(1_000)
    expect(detail.mergeRefusal).toBe(answer.merged ? null : `${answer.status} ${answer.message}`)
  })
})

describe('what settles by itself', () => {
  test.each(['checking', 'unchecked', 'preparing'])('%s is looked at again soon', async (detailedMergeStatus) => {
    const { lookAgainMs, detail } = await reconcile({ mr: { detailedMergeStatus } })
    expect(lookAgainMs).toBe(1_000)
    expect(detail.unsettledLooks).toBe(1)
  })

  test('is looked at less and less often, and never more seldom than the poll', async () => {
    const waits: unknown[] = []
    for (const unsettledLooks of [0, 1, 2, 3, 10, 1_000]) {
      waits.push((await reconcile({ mr: { detailedMergeStatus: 'checking' }, detail: { unsettledLooks } })).lookAgainMs)
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 30_000, 30_000])
  })

  test('a merge under way is looked at again', async () => {
    expect((await reconcile({ mr: { state: 'locked' } })).lookAgainMs).toBe(1_000)
  })

  test('a running pipeline is polled more closely than a missing approval', async () => {
    const running = await reconcile({
      mr: { detailedMergeStatus: 'ci_still_running', headPipeline: pipeline('running') },
    })
    const approval = await reconcile({ mr: { detailedMergeStatus: 'not_approved', headPipeline: pipeline('success') } })
    expect([running.lookAgainMs, approval.lookAgainMs]).toEqual([30_000, 300_000])
  })
})

describe('a branch that is not as written', () => {
  test.each(['conflict', 'need_rebase'])('%s asks for a rebuild', async (detailedMergeStatus) => {
    const { rewrite, detail, lookAgainMs } = await reconcile({ mr: { detailedMergeStatus } })
    expect({ rewrite, rebuildWanted: detail.rebuildWanted, lookAgainMs }).toEqual({
      rewrite: true,
      rebuildWanted: true,
      lookAgainMs: null,
    })
  })

  test('has_conflicts counts whatever the status says', async () => {
    expect((await reconcile({ mr: { detailedMergeStatus: 'not_approved', hasConflicts: true } })).rewrite).toBe(true)
  })

  test('GitLab may be behind: then it is looked at again and nothing is judged', async () => {
    const { lookAgainMs, rewrite } = await reconcile({ mr: { sha: OTHER, detailedMergeStatus: 'conflict' } })
    expect({ lookAgainMs, rewrite }).toEqual({ lookAgainMs: 1_000, rewrite: false })
  })

  test('gone, it is written again', async () => {
    expect((await reconcile({ mr: { sha: null }, branchSha: null })).rewrite).toBe(true)
  })

  test("somebody else's commits are not merged, even with a green pipeline", async () => {
    const { merges, detail, phase } = await reconcile({
      mr: { sha: OTHER, headPipeline: pipeline('success', OTHER) },
      branchSha: OTHER,
    })
    expect({ merges, headSha: detail.headSha, phase }).toEqual({ merges: [], headSha: OTHER, phase: 'active' })
  })

  test('the branch is asked for only then', async () => {
    expect((await reconcile({})).asked).toEqual([])
  })
})
