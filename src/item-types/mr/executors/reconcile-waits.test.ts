import { describe, expect, test } from 'vitest'
import { NOON } from '../../../../test/support/mr-item.ts'
import { type Given, MERGED_AT, OTHER, pipeline, reconcile, SHA } from '../../../../test/support/reconcile-once.ts'

describe('what it waits for', () => {
  const green = pipeline('success')
  const waiting = { code: 'waiting_for_approval', message: 'x', clearedBy: 'x', since: '2026-03-01T00:00:00.000Z' }
  const approval = { detailedMergeStatus: 'not_approved', headPipeline: green }

  test('is recorded with the time of the look that first found it', async () => {
    const first = await reconcile({ mr: approval })
    expect(first.detail.waitsFor).toMatchObject({ code: 'waiting_for_approval', since: NOON.toISOString() })
    const again = await reconcile({ mr: approval, detail: { waitsFor: waiting } })
    expect(again.detail.waitsFor?.since).toBe(waiting.since)
    const other = await reconcile({ mr: { detailedMergeStatus: 'draft_status' }, detail: { waitsFor: waiting } })
    expect(other.detail.waitsFor).toMatchObject({ code: 'draft', since: NOON.toISOString() })
  })

  test('stays what it was while GitLab only checks anew', async () => {
    const { detail, noteInMs } = await reconcile({
      mr: { detailedMergeStatus: 'checking' },
      detail: { waitsFor: waiting },
    })
    expect({ waitsFor: detail.waitsFor, noteInMs }).toEqual({ waitsFor: waiting, noteInMs: null })
  })

  test('is told on the merge request when it changes, and only then', async () => {
    expect((await reconcile({ mr: approval })).noteInMs).toBeGreaterThan(0)
    expect((await reconcile({ mr: approval, detail: { waitsFor: waiting } })).noteInMs).toBeNull()
    expect((await reconcile({ mr: approval, policy: { note: false } })).noteInMs).toBeNull()
  })

  test.each<[string, Given, string]>([
    ["somebody else's commits", { mr: { sha: OTHER }, branchSha: OTHER }, 'foreign_commits'],
    ['a push that GitLab has not noticed', { mr: { sha: OTHER } }, 'checking_mergeability'],
    ['a merge under way', { mr: { state: 'locked' } }, 'merging'],
    [
      'a refused merge',
      { mr: { headPipeline: green }, answer: { merged: false, status: 405, message: 'no' } },
      'merge_refused',
    ],
    ['auto_merge', { mr: { headPipeline: green }, detail: { autoMerge: false } }, 'waiting_for_merge'],
  ])('is %s', async (_title, given, code) => {
    expect((await reconcile(given)).detail.waitsFor?.code).toBe(code)
  })
})

describe('the end of its time', () => {
  test('closes what is still open, with a word about it, and takes the branch away', async () => {
    const { phase, resolution, writes } = await reconcile({
      mr: { headPipeline: pipeline('success') },
      detail: { expiresAt: NOON },
    })
    expect([phase, resolution]).toEqual(['cancelled', 'expired'])
    expect(writes).toEqual(['note', 'close', 'delete branch'])
  })

  test('is no matter for what was merged before', async () => {
    const { phase } = await reconcile({ mr: { state: 'merged', mergedAt: MERGED_AT }, detail: { expiresAt: NOON } })
    expect(phase).toBe('completed')
  })

  test('is when it is looked at again, at the latest', async () => {
    const expiresAt = new Date(NOON.getTime() + 4_000)
    const { lookAgainMs } = await reconcile({ mr: { detailedMergeStatus: 'not_approved' }, detail: { expiresAt } })
    expect(lookAgainMs).toBe(4_000)
  })
})

describe('a review by a named person', () => {
  const policy = { review: { paths: ['docs/**'], users: ['Olga'], group: 'team/owners' } }
  const approved = (username: string, approvedAt: string | null = '2026-03-02T11:00:00.000Z', userId = 5) => ({
    approvalsLeft: null,
    approvedBy: [{ userId, username, approvedAt }],
  })
  const draft = { draft: true, detailedMergeStatus: 'draft_status', headPipeline: pipeline('success') }
  const needed = { needsReview: true }

  test.each<[string, ReturnType<typeof approved>, boolean]>([
    ['of one who is named, whatever the case', approved('olga'), true],
    ['of a member of the group', approved('gregor'), true],
    ['of anybody else', approved('dan'), false],
    ['of the service itself', approved('olga', undefined, 1), false],
    ['from before the commit', approved('olga', '2026-03-02T09:59:59.000Z'), false],
    ['without a time', approved('olga', null), false],
  ])('an approval %s counts: %s', async (_title, approvals, counts) => {
    const { rewrite, detail, merges } = await reconcile({ mr: draft, detail: needed, policy, approvals })
    expect({ rewrite, reviewedSha: detail.reviewedSha, merges }).toEqual({
      rewrite: counts,
      reviewedSha: counts ? SHA : null,
      merges: [],
    })
  })

  test('lets it be merged once the draft mark is off', async () => {
    const mr = { headPipeline: pipeline('success') }
    const detail = { ...needed, reviewedSha: SHA }
    expect((await reconcile({ mr, detail, policy, approvals: approved('olga') })).phase).toBe('completed')
    const withdrawn = await reconcile({ mr, detail, policy, approvals: { approvalsLeft: null, approvedBy: [] } })
    expect(withdrawn).toMatchObject({ merges: [], rewrite: true, detail: { reviewedSha: null } })
  })
})
