/** One run of `reconcile_mr` against a GitLab that says exactly what the test says. */

import type { Database } from '../../src/db/database.ts'
import type {
  GitLab,
  GitLabApprovals,
  GitLabBranch,
  GitLabMergeAnswer,
  GitLabMergeRequest,
} from '../../src/gitlab/port.ts'
import type { MrDetail } from '../../src/item-types/mr/detail.ts'
import { createReconcileMr } from '../../src/item-types/mr/executors/reconcile-mr.ts'
import { createInspector } from '../../src/item-types/mr/inspection/inspector.ts'
import { silentLog } from '../../src/lib/log.ts'
import { Draft } from '../../src/queue/draft.ts'
import { mrPolicy, mrSnapshot, mrSubmission } from './mr-item.ts'

export const SHA = 'a'.repeat(40)
export const OTHER = 'f'.repeat(40)
export const MERGED_AT = '2026-03-02T11:59:00.000Z'

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

export const pipeline = (status: string, sha = SHA) => ({
  id: 11,
  projectId: 7,
  sha,
  status,
  source: 'push',
  ref: 'bot/change',
  webUrl: '',
})

export interface Given {
  /** What GitLab says; null: there is no such merge request. */
  readonly mr?: Partial<GitLabMergeRequest> | null
  readonly detail?: Partial<MrDetail>
  readonly branchSha?: string | null
  readonly requirePipeline?: boolean
  /** What the configuration says of the project by now. */
  readonly policy?: Readonly<Record<string, unknown>>
  readonly answer?: GitLabMergeAnswer
  readonly approvals?: GitLabApprovals
}

const NOBODY: GitLabApprovals = { approvalsLeft: null, approvedBy: [] }

/** Runs one reconcile against a GitLab that says exactly this. */
export async function reconcile(given: Given) {
  const {
    mr = {},
    detail = {},
    branchSha = SHA,
    requirePipeline = true,
    policy = {},
    answer,
    approvals = NOBODY,
  } = given
  const merges: object[] = []
  const asked: string[] = []
  const writes: string[] = []
  const gitlab: Partial<GitLab> = {
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
        committedAt: '2026-03-02T10:00:00.000+00:00',
      }
    },
    listBridges: async () => [],
    getApprovals: async () => approvals,
    getOwnUser: async () => ({ id: 1, commitEmail: 'bot@example.com' }),
    isGroupMember: async (_group, userId) => userId === 5 && approvals.approvedBy[0]?.username === 'gregor',
    listNotes: async () => [],
    async createNote() {
      writes.push('note')
      return 1
    },
    async updateMergeRequest() {
      writes.push('close')
      return { ...OPEN, state: 'closed' }
    },
    async deleteBranch() {
      writes.push('delete branch')
    },
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
    writes,
    phase: draft.phase,
    resolution: draft.resolution,
    detail: draft.detail,
    lookAgainMs: change('needs_reconcile')?.status === 'true' ? change('needs_reconcile')?.deferMs : null,
    noteInMs: change('needs_dashboard_link')?.deferMs ?? null,
    rewrite: change('needs_mr')?.status === 'true',
  }
}
