import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mrPolicy, NOON } from '../../../test/support/mr-item.ts'
import type { GitLabBridge, GitLabPipeline } from '../../gitlab/port.ts'
import { type Answers, judge, type Look, MERGE_STATUSES, type Verdict } from './merge-gate.ts'

const HEAD = 'a'.repeat(40)
const OTHER = 'f'.repeat(40)
const TARGET = 'e'.repeat(40)

type Policy = Readonly<Record<string, unknown>>

interface Given {
  readonly status?: string
  readonly hasConflicts?: boolean
  readonly draft?: boolean
  readonly labels?: readonly string[]
  readonly pipeline?: Partial<GitLabPipeline> | null
  readonly policy?: Policy
  readonly look?: Partial<Omit<Look, 'mergeRequest' | 'policy'>>
}

function lookOf({ status = 'mergeable', pipeline = { status: 'success' }, policy = {}, ...given }: Given = {}): Look {
  const [project] = mrPolicy(policy).projects
  if (project === undefined) throw new Error('the policy has no project')
  return {
    mergeRequest: {
      detailedMergeStatus: status,
      hasConflicts: given.hasConflicts ?? false,
      labels: given.labels ?? [],
      draft: given.draft ?? false,
      headPipeline: pipeline === null ? null : pipelineOf(pipeline),
    },
    head: HEAD,
    autoMerge: true,
    isDraftByCaller: false,
    needsReview: false,
    reviewedSha: null,
    unsettledLooks: 0,
    ciFinding: null,
    policy: project,
    now: NOON,
    answers: { children: [] },
    ...given.look,
  }
}

function pipelineOf(given: Partial<GitLabPipeline>): GitLabPipeline {
  return {
    id: 11,
    projectId: 7,
    sha: HEAD,
    status: 'success',
    source: 'merge_request_event',
    ref: 'refs/merge-requests/3/head',
    webUrl: '',
    ...given,
  }
}

/** `merge`, `rebuild`, `ask children`, `soon checking_mergeability`, `pipeline waiting_for_pipeline`, … */
function outcome(verdict: Verdict): string {
  switch (verdict.do) {
    case 'ask':
      return `ask ${verdict.question}`
    case 'wait':
      return `${verdict.look} ${verdict.reason.code}`
    case 'review':
      return verdict.reviewed ? 'reviewed' : 'review withdrawn'
    case 'merge':
    case 'rebuild':
      return verdict.do
  }
}

const judged = (given?: Given) => outcome(judge(lookOf(given)))

/** What each status of GitLab means while nothing is asked of the pipeline. */
const BY_STATUS: Readonly<Record<string, string>> = {
  checking: 'soon checking_mergeability',
  unchecked: 'soon checking_mergeability',
  preparing: 'soon checking_mergeability',
  approvals_syncing: 'soon checking_mergeability',
  conflict: 'rebuild',
  need_rebase: 'rebuild',
  broken_status: 'rebuild',
  not_approved: 'waiting_for_approval',
  requested_changes: 'changes_requested',
  discussions_not_resolved: 'open_discussions',
  draft_status: 'draft',
  ci_must_pass: 'pipeline_not_green',
  ci_still_running: 'waiting_for_pipeline',
  status_checks_must_pass: 'status_checks',
  external_status_checks: 'status_checks',
  not_open: 'merging',
  merge_request_blocked: 'blocked_by_other',
  blocked_status: 'blocked_by_other',
  merge_time: 'merge_time',
  locked_paths: 'locked_paths',
  locked_lfs_files: 'locked_paths',
  title_regex: 'title_refused',
  security_policy_violations: 'policy_violation',
  security_policy_pipeline_check: 'policy_violation',
  policies_denied: 'policy_violation',
  jira_association_missing: 'issue_missing',
  commits_status: 'branch_missing',
  a_status_of_next_year: 'merge_status',
  constructor: 'merge_status',
}

/** Every pipeline a merge request may show, and what it is worth once GitLab says mergeable: strict, then lenient. */
const BY_PIPELINE: readonly (readonly [string, Partial<GitLabPipeline> | null, string, string])[] = [
  ['none', null, 'pipeline waiting_for_pipeline', 'soon waiting_for_pipeline'],
  ['created', { status: 'created' }, 'pipeline waiting_for_pipeline', 'pipeline waiting_for_pipeline'],
  ['waiting', { status: 'waiting_for_resource' }, 'pipeline waiting_for_pipeline', 'pipeline waiting_for_pipeline'],
  ['preparing', { status: 'preparing' }, 'pipeline waiting_for_pipeline', 'pipeline waiting_for_pipeline'],
  ['pending', { status: 'pending' }, 'pipeline waiting_for_pipeline', 'pipeline waiting_for_pipeline'],
  ['running', { status: 'running' }, 'pipeline waiting_for_pipeline', 'pipeline waiting_for_pipeline'],
  ['scheduled', { status: 'scheduled' }, 'pipeline waiting_for_pipeline', 'pipeline waiting_for_pipeline'],
  ['canceling', { status: 'canceling' }, 'pipeline waiting_for_pipeline', 'pipeline waiting_for_pipeline'],
  ['success', { status: 'success' }, 'merge', 'merge'],
  ['failed', { status: 'failed' }, 'interval pipeline_not_green', 'interval pipeline_not_green'],
  ['canceled', { status: 'canceled' }, 'interval pipeline_not_green', 'interval pipeline_not_green'],
  ['skipped', { status: 'skipped' }, 'interval pipeline_not_green', 'merge'],
  ['manual', { status: 'manual' }, 'interval pipeline_manual', 'merge'],
  ['unknown', { status: 'moonlight' }, 'interval waiting_for_pipeline', 'interval waiting_for_pipeline'],
  ['green, older', { sha: OTHER }, 'pipeline waiting_for_pipeline', 'soon waiting_for_pipeline'],
  ['failed, older', { sha: OTHER, status: 'failed' }, 'pipeline waiting_for_pipeline', 'soon waiting_for_pipeline'],
  ['green, external', { source: 'external' }, 'interval pipeline_external', 'merge'],
  [
    'failed, external',
    { source: 'external', status: 'failed' },
    'interval pipeline_external',
    'interval pipeline_not_green',
  ],
  ['green, merged results', { sha: OTHER, ref: 'refs/merge-requests/3/merge' }, 'merge', 'merge'],
]

const STRICT: Policy = {}
const LENIENT: Policy = { pipeline: { none: 'merge', skipped: 'merge', manual: 'merge', external: 'accept' } }
const ANSWERS: Answers = { children: [], merged_result: [TARGET, HEAD] }

describe('each status of GitLab, with each pipeline, under each policy', () => {
  test.each(Object.entries(BY_STATUS))('%s is %s, whatever the pipeline and the policy', (status, expected) => {
    for (const [name, pipeline] of BY_PIPELINE) {
      for (const policy of [STRICT, LENIENT]) {
        const found = judged({ status, pipeline, policy, look: { answers: ANSWERS } })
        expect([name, found.replace(/^(pipeline|interval) /, '')]).toEqual([name, expected])
      }
    }
  })

  test.each(BY_PIPELINE)('mergeable, with a pipeline that is %s', (_name, pipeline, strict, lenient) => {
    const look = { answers: ANSWERS }
    expect(judged({ pipeline, policy: STRICT, look })).toBe(strict)
    expect(judged({ pipeline, policy: LENIENT, look })).toBe(lenient)
    expect(judged({ pipeline, policy: STRICT, look: { ...look, autoMerge: false } })).toBe('interval waiting_for_merge')
  })

  test('no status that the gate explains is left out here', () => {
    expect(MERGE_STATUSES.filter((status) => !(status in BY_STATUS))).toEqual([])
  })
})

describe('a merge takes proof', () => {
  test('no pipeline for long is taken for none, where the project takes that', () => {
    const given = { pipeline: null, policy: { pipeline: { none: 'merge' } } }
    expect(judged({ ...given, look: { unsettledLooks: 3 } })).toBe('soon waiting_for_pipeline')
    expect(judged({ ...given, look: { unsettledLooks: 4 } })).toBe('merge')
  })

  test.each<[string, NonNullable<Parameters<typeof judged>[0]>, string]>([
    ['is tried where all else is there', {}, 'merge'],
    ['asks for what is missing first', { look: { answers: {} } }, 'ask children'],
    ['waits for a pipeline that is not green', { pipeline: { status: 'running' } }, 'soon checking_mergeability'],
    ['waits while it is held', { labels: ['do-not-merge'] }, 'soon checking_mergeability'],
    ['waits for a draft', { draft: true }, 'soon checking_mergeability'],
    ['waits where nobody wants it merged', { look: { autoMerge: false } }, 'soon checking_mergeability'],
  ])('a merge that GitLab does not come to check %s', (_title, given, expected) => {
    for (const status of ['checking', 'unchecked'] as const) {
      const look = { answers: ANSWERS, ...given.look }
      expect(judged({ ...given, status, look: { ...look, unsettledLooks: 1 } })).toBe('soon checking_mergeability')
      expect(judged({ ...given, status, look: { ...look, unsettledLooks: 2 } })).toBe(expected)
    }
    const patient = { status: 'preparing', look: { answers: ANSWERS, unsettledLooks: 9 } } as const
    expect(judged(patient)).toBe('soon checking_mergeability')
  })

  test('an external pipeline that does not count is not taken for none', () => {
    const given = { pipeline: { source: 'external' }, policy: { pipeline: { none: 'merge' } } }
    expect(judged({ ...given, look: { unsettledLooks: 9 } })).toBe('interval pipeline_external')
  })

  describe('of a merged-results pipeline', () => {
    const pipeline = { sha: OTHER, ref: 'refs/merge-requests/3/merge' }
    const green = (answers: Answers, policy: Policy = {}) =>
      judged({ pipeline, policy, look: { answers: { children: [], ...answers } } })

    test('the merged commits are asked for', () => expect(green({})).toBe('ask merged_result'))
    test('the head must be one of them', () => {
      expect(green({ merged_result: [TARGET, HEAD] })).toBe('merge')
      expect(green({ merged_result: [TARGET, OTHER] })).toBe('pipeline waiting_for_pipeline')
      expect(green({ merged_result: [] })).toBe('pipeline waiting_for_pipeline')
    })
    test('a project may not count it', () => {
      const policy = { pipeline: { merged_results: 'ignore' } }
      expect(green({ merged_result: [TARGET, HEAD] }, policy)).toBe('pipeline waiting_for_pipeline')
    })
    test('another ref is no merged result', () => {
      const found = judged({
        pipeline: { sha: OTHER, ref: 'refs/merge-requests/3/head' },
        look: { answers: { children: [], merged_result: [TARGET, HEAD] } },
      })
      expect(found).toBe('pipeline waiting_for_pipeline')
    })
  })

  describe('of the pipelines that it has started', () => {
    const bridge = (given: Partial<GitLabBridge> & { readonly child?: string | null } = {}): GitLabBridge => ({
      id: 20,
      name: 'deploy',
      stage: 'deploy',
      failureReason: null,
      webUrl: '',
      status: 'success',
      allowFailure: false,
      downstream: given.child === null ? null : pipelineOf({ id: 12, sha: OTHER, status: given.child ?? 'success' }),
      ...given,
    })
    const withChildren = (...children: readonly GitLabBridge[]) => judged({ look: { answers: { children } } })

    test('they are asked for, once the rest is green', () => {
      expect(judged({ look: { answers: {} } })).toBe('ask children')
      expect(judged({ pipeline: { status: 'failed' }, look: { answers: {} } })).toBe('interval pipeline_not_green')
    })
    test.each<[string, GitLabBridge, string]>([
      ['green', bridge(), 'merge'],
      ['red', bridge({ child: 'failed' }), 'interval pipeline_not_green'],
      ['red, but may fail', bridge({ child: 'failed', allowFailure: true }), 'merge'],
      ['at work', bridge({ child: 'running' }), 'pipeline waiting_for_pipeline'],
      ['skipped inside', bridge({ child: 'skipped' }), 'interval pipeline_not_green'],
      ['not begun', bridge({ child: null, status: 'created' }), 'pipeline waiting_for_pipeline'],
      ['failed to begin', bridge({ child: null, status: 'failed' }), 'interval pipeline_not_green'],
      ['begun, and not seen yet', bridge({ child: null }), 'pipeline waiting_for_pipeline'],
      ['never started, because skipped', bridge({ child: null, status: 'skipped' }), 'merge'],
      ['never started, because a person must', bridge({ child: null, status: 'manual' }), 'merge'],
    ])('one that is %s', (_title, child, expected) => {
      expect(withChildren(bridge(), child)).toBe(expected)
    })
    test('a project may leave them out', () => {
      expect(judged({ policy: { pipeline: { children: 'ignore' } }, look: { answers: {} } })).toBe('merge')
    })
  })
})

describe('what else holds it back', () => {
  test('a label, whatever its case; not one that only looks like it', () => {
    expect(judged({ labels: ['bug', 'Do-Not-Merge'] })).toBe('interval on_hold')
    expect(judged({ labels: ['do-not-merge-yet'] })).toBe('merge')
    expect(judged({ labels: ['frozen'], policy: { hold_labels: ['frozen'] } })).toBe('interval on_hold')
  })

  test('a freeze, and only at the very end', () => {
    const policy = { freeze: [{ from: 'mon 08:00', to: 'mon 18:00', reason: 'release' }] }
    expect(judged({ policy })).toBe('interval frozen')
    expect(judged({ policy, pipeline: { status: 'running' } })).toBe('pipeline waiting_for_pipeline')
    const verdict = judge(lookOf({ policy }))
    expect(verdict).toMatchObject({ reason: { message: 'nothing is merged until mon 18:00 UTC: release' } })
  })
})

describe('a review by a named person', () => {
  const policy = { review: { paths: ['deploy/**'], group: 'team/owners' } }
  const reviewed = (given: Partial<Look>, draft = true) =>
    judged({ policy, draft, status: draft ? 'draft_status' : 'mergeable', look: { needsReview: true, ...given } })

  test('is asked for first, and waited for', () => {
    expect(reviewed({ answers: {} })).toBe('ask review')
    expect(reviewed({ answers: { review: null } })).toBe('interval waiting_for_review')
  })
  test('brings the draft mark back when somebody has taken it off', () => {
    expect(reviewed({ answers: { review: null } }, false)).toBe('review withdrawn')
  })
  test('lifts the draft', () => {
    expect(reviewed({ answers: { review: 'olga' } })).toBe('reviewed')
    expect(reviewed({ answers: { review: 'olga' }, reviewedSha: HEAD })).toBe('reviewed')
  })
  test('counts for the commit that was reviewed alone', () => {
    expect(reviewed({ answers: { review: 'olga', children: [] }, reviewedSha: OTHER }, false)).toBe('reviewed')
  })
  test('is asked for again before the merge', () => {
    expect(reviewed({ answers: { children: [] }, reviewedSha: HEAD }, false)).toBe('ask review')
    expect(reviewed({ answers: { review: 'olga', children: [] }, reviewedSha: HEAD }, false)).toBe('merge')
    expect(reviewed({ answers: { review: null, children: [] }, reviewedSha: HEAD }, false)).toBe('review withdrawn')
  })
  test('leaves a draft alone that the caller wants', () => {
    const look = { reviewedSha: HEAD, answers: { review: 'olga' }, isDraftByCaller: true, autoMerge: false }
    expect(reviewed(look)).toBe('interval draft')
  })
  test('nobody configured means nobody agrees', () => {
    const look = { needsReview: true, answers: { review: null } }
    expect(judge(lookOf({ look }))).toMatchObject({ reason: { clearedBy: expect.stringContaining('operator') } })
  })
})

describe('a pipeline that has failed', () => {
  const reason = { code: 'retrying_ci', message: 'job unit is run again', clearedBy: 'the service' }
  const ciFinding = { pipelineId: 11, judged: '', state: 'waiting', reason } as const
  const verdictOn = (given: Given) => judge(lookOf({ pipeline: { status: 'failed' }, ...given }))

  test.each<[string, Given, boolean]>([
    ['is one for the herder', {}, true],
    ['is one for the herder, whatever else it waits for', { status: 'not_approved' }, true],
    ['is one for the herder, also where the project asks for a green one', { status: 'ci_must_pass' }, true],
    ['is one for the herder, also without auto_merge', { look: { autoMerge: false } }, true],
    ['of an older head is none', { pipeline: { status: 'failed', sha: OTHER } }, false],
    [
      'of a merge with the target is one',
      { pipeline: { status: 'failed', sha: OTHER, ref: 'refs/merge-requests/3/merge' }, status: 'ci_must_pass' },
      true,
    ],
    ['and runs again is none any more', { pipeline: { status: 'running' } }, false],
    ['because somebody has stopped it is none', { pipeline: { status: 'canceled' } }, false],
  ])('%s', (_title, given, ciFailed) => {
    expect(verdictOn(given)).toMatchObject({ do: 'wait', ciFailed })
  })

  test('is explained by what the herder has found about this very pipeline', () => {
    expect(verdictOn({ look: { ciFinding } })).toMatchObject({ reason })
    expect(verdictOn({ status: 'ci_must_pass', look: { ciFinding } })).toMatchObject({ reason })
    const other = { ...ciFinding, pipelineId: 12 }
    expect(verdictOn({ look: { ciFinding: other } })).toMatchObject({ reason: { code: 'pipeline_not_green' } })
    expect(verdictOn({ status: 'not_approved', look: { ciFinding } })).toMatchObject({
      reason: { code: 'waiting_for_approval' },
    })
  })
})

describe('the gate as a function', () => {
  const pipelines = fc.option(
    fc.record({
      status: fc.oneof(fc.constantFrom('success', 'failed', 'running', 'manual', 'skipped'), fc.string()),
      sha: fc.constantFrom(HEAD, OTHER),
      source: fc.constantFrom('push', 'external', ''),
      ref: fc.constantFrom('refs/merge-requests/3/merge', 'bot/change', ''),
    }),
    { nil: null },
  )
  const givens = fc.record({
    status: fc.oneof(fc.constantFrom('mergeable', ...MERGE_STATUSES), fc.string()),
    hasConflicts: fc.boolean(),
    draft: fc.boolean(),
    labels: fc.array(fc.constantFrom('bug', 'do-not-merge')),
    pipeline: pipelines,
    look: fc.record({
      autoMerge: fc.boolean(),
      needsReview: fc.boolean(),
      reviewedSha: fc.constantFrom(null, HEAD, OTHER),
      unsettledLooks: fc.nat(10),
      answers: fc.record(
        {
          merged_result: fc.array(fc.constantFrom(HEAD, TARGET)),
          review: fc.constantFrom(null, 'olga'),
          children: fc.constant([]),
        },
        { requiredKeys: [] },
      ),
    }),
  })

  test('always answers, the same each time, and never asks what it was told', () => {
    fc.assert(
      fc.property(givens, (given) => {
        const verdict = judge(lookOf(given))
        expect(judge(lookOf(given))).toEqual(verdict)
        if (verdict.do === 'ask') expect(given.look.answers[verdict.question]).toBeUndefined()
      }),
    )
  })

  test('merges only what GitLab calls mergeable, or does not come to check, with a green pipeline of this very head, and nothing against it', () => {
    fc.assert(
      fc.property(givens, (given) => {
        if (judge(lookOf(given)).do !== 'merge') return
        expect(given).toMatchObject({ hasConflicts: false, pipeline: { status: 'success' } })
        if (given.status !== 'mergeable') {
          expect(['checking', 'unchecked']).toContain(given.status)
          expect([given.look.unsettledLooks > 1, given.draft]).toEqual([true, false])
        }
        expect(given.labels).not.toContain('do-not-merge')
        expect(given.look.autoMerge).toBe(true)
        const { pipeline, look } = given
        expect(pipeline?.sha === HEAD || look.answers.merged_result?.includes(HEAD)).toBe(true)
        if (look.needsReview) expect([look.reviewedSha, look.answers.review]).toEqual([HEAD, 'olga'])
      }),
    )
  })
})
