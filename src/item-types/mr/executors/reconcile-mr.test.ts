import { describe, expect, test } from 'vitest'
import { mrPolicy, mrSnapshot, mrSubmission } from '../../../../test/support/mr-item.ts'
import type { Database } from '../../../db/database.ts'
import type { GitLab, GitLabBranch, GitLabMergeAnswer, GitLabMergeRequest } from '../../../gitlab/port.ts'
import { silentLog } from '../../../lib/log.ts'
import { Draft } from '../../../queue/draft.ts'
import type { MrDetail } from '../detail.ts'
import { createInspector } from '../inspection/inspector.ts'
import { createReconcileMr } from './reconcile-mr.ts'

const SHA = 'a'.repeat(40)
const OTHER = 'f'.repeat(40)
const MERGED_AT = '2026-03-02T11:59:00.000Z'

const OPEN: GitLabMergeRequest = {
  iid: 3,
  projectId: 7,
  sourceProjectId: 7,
  title: 'Add a note',
  description: '',
  state: 'opened',
  draft: false,
  sourceBranch: 'bot/change',
  targetBranch: 'main',
  sha: SHA,
  labels: [],
  assigneeIds: [],
  reviewerIds: [],
  detailedMergeStatus: 'mergeable',
  hasConflicts: false,
  mergeError: null,
  mergeCommitSha: null,
  mergedAt: null,
  webUrl: 'https://gitlab.example.com/mr/3',
  squash: false,
  removeSourceBranch: true,
  headPipeline: null,
}

const pipeline = (status: string, sha = SHA) => ({
  id: 11,
  projectId: 7,
  sha,
  status,
  source: 'push',
  ref: 'bot/change',
  webUrl: '',
})

interface Given {
  /** What GitLab says; null: there is no such merge request. */
  readonly mr?: Partial<GitLabMergeRequest> | null
  readonly detail?: Partial<MrDetail>
  readonly branchSha?: string | null
  readonly requirePipeline?: boolean
  /** What the configuration says of the project by now. */
  readonly policy?: Readonly<Record<string, unknown>>
  readonly answer?: GitLabMergeAnswer
}

/** Runs one reconcile against a GitLab that says exactly this. */
async function reconcile(given: Given) {
  const { mr = {}, detail = {}, branchSha = SHA, requirePipeline = true, policy = {}, answer } = given
  const merges: object[] = []
  const asked: string[] = []
  const gitlab: Pick<GitLab, 'getMergeRequest' | 'getBranch' | 'mergeMergeRequest' | 'listBridges'> = {
    getMergeRequest: async () => (mr === null ? null : { ...OPEN, ...mr }),
    async getBranch(_project, name): Promise<GitLabBranch | null> {
      asked.push(name)
      if (branchSha === null) return null
      return {
        name,
        sha: branchSha,
        protected: false,
        default: false,
        headMessage: '',
        parentShas: [],
        committerEmail: null,
        committedAt: null,
      }
    },
    listBridges: async () => [],
    async mergeMergeRequest(_project, _iid, request) {
      merges.push(request)
      return (
        answer ?? {
          merged: true,
          mergeRequest: { ...OPEN, state: 'merged', mergeCommitSha: OTHER, mergedAt: MERGED_AT },
        }
      )
    },
  }
  const config = mrPolicy({ pipeline: { none: requirePipeline ? 'wait' : 'merge' }, ...policy })
  const services = {
    db: {} as Database,
    gitlab: gitlab as GitLab,
    config,
    inspector: createInspector(config),
    readContent: async () => mrSubmission(),
  }
  const { item, detail: before, dimensions, now } = mrSnapshot({ detail })
  const draft = new Draft(item, before, dimensions)
  const result = await createReconcileMr(services)(draft, { signal: new AbortController().signal, now, log: silentLog })
  const change = (name: string) => draft.dimensionChanges.find(({ dimension }) => dimension === name)
  return {
    result,
    merges,
    asked,
    phase: draft.phase,
    resolution: draft.resolution,
    detail: draft.detail,
    lookAgainMs: change('needs_reconcile')?.status === 'true' ? change('needs_reconcile')?.deferMs : null,
    rewrite: change('needs_mr')?.status === 'true',
  }
}

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

  test.each([
    ['whose path is blocked by now', { block_paths: ['docs/**'] }],
    ['of a project that was taken out', { path: 'another/project' }],
  ])('a change %s is not merged, however green', async (_title, policy) => {
    const { merges, result } = await reconcile({ mr: { headPipeline: pipeline('success') }, policy })
    expect(merges).toEqual([])
    expect(result.outcome).toBe('failed_for_good')
  })

  test('the merge names the commit that was proven', async () => {
    const { merges } = await reconcile({ mr: { headPipeline: pipeline('success') }, detail: { squash: true } })
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
