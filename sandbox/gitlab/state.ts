/**
 * The sandbox GitLab's memory: plain records, kept in one JSON file beside the bare repositories, and the signals by which
 * its parts hear of each other (a push starts a pipeline, a pipeline's end tells the webhooks). Commits, trees and merges
 * are never kept here: the bare repositories hold them.
 */
import { EventEmitter } from 'node:events'

export interface User {
  readonly id: number
  readonly username: string
  readonly name: string
  readonly bot: boolean
  /** Sees and may do everything. */
  readonly admin: boolean
  readonly email: string
  readonly createdAt: string
}

export interface Token {
  /** SHA-256 (hex) of the token. */
  readonly sha256: string
  readonly userId: number
}

export interface ProtectedBranch {
  /** Exact name or wildcard (`release/*`). */
  readonly name: string
  readonly pushAccessLevel: number
  readonly mergeAccessLevel: number
  readonly allowForcePush?: boolean
}

/** A group of people; what its members may do, they may do in everything below it. */
export interface Group {
  readonly id: number
  readonly fullPath: string
  /** Access level by user id. */
  members: Record<number, number>
}

export interface Project {
  readonly id: number
  pathWithNamespace: string
  /** Where it was before it was renamed or moved, oldest first. */
  formerPaths?: string[]
  defaultBranch: string
  archived: boolean
  mergeMethod: 'merge' | 'rebase_merge' | 'ff'
  squashOption: 'never' | 'always' | 'default_on' | 'default_off'
  onlyAllowMergeIfPipelineSucceeds: boolean
  allowMergeOnSkippedPipeline: boolean
  onlyAllowMergeIfAllDiscussionsAreResolved?: boolean
  /** Pipelines of merge requests run on the merge to be, not on the head. */
  mergePipelinesEnabled?: boolean
  /** A push to the source branch takes the approvals away. */
  resetApprovalsOnPush?: boolean
  removeSourceBranchAfterMerge: boolean
  mergeRequestsEnabled: boolean
  description: string
  /** True until the first push. */
  emptyRepo: boolean
  approvalsRequired: number
  protectedBranches: ProtectedBranch[]
  /** By user id: 10 guest, 20 reporter, 30 developer, 40 maintainer, 50 owner. Others do not see the project. */
  members: Record<number, number>
  hooks: Hook[]
  labels: string[]
  readonly createdAt: string
  nextMergeRequestIid: number
  nextPipelineIid: number
}

export interface Hook {
  readonly id: number
  readonly url: string
  readonly token: string | null
  readonly mergeRequestsEvents: boolean
  readonly pipelineEvents: boolean
  readonly jobEvents: boolean
  readonly noteEvents: boolean
  readonly pushEvents: boolean
  /** The project's own when left out. */
  readonly createdAt?: string
}

export type MergeStatus = 'unchecked' | 'checking' | 'can_be_merged' | 'cannot_be_merged' | 'cannot_be_merged_recheck'

export interface MergeRequest {
  readonly id: number
  readonly iid: number
  readonly projectId: number
  readonly authorId: number
  title: string
  description: string
  state: 'opened' | 'closed' | 'locked' | 'merged'
  readonly sourceBranch: string
  targetBranch: string
  /** Head of the source branch as last seen by the merge request. */
  sha: string
  mergeStatus: MergeStatus
  mergeError: string | null
  mergeCommitSha: string | null
  squashCommitSha: string | null
  labels: string[]
  assigneeIds: number[]
  reviewerIds: number[]
  squash: boolean
  forceRemoveSourceBranch: boolean
  shouldRemoveSourceBranch: boolean | null
  approvals: { readonly userId: number; readonly approvedAt: string }[]
  headPipelineId: number | null
  discussionLocked: boolean | null
  readonly createdAt: string
  updatedAt: string
  mergedAt: string | null
  mergeUserId: number | null
  closedAt: string | null
  closedById: number | null
  preparedAt: string | null
  rebaseInProgress: boolean
  /** Set while the request merges by itself once its pipeline is green. */
  autoMerge: AutoMerge | null
  /** Number of changed files as GitLab writes it; null while the request is being prepared or has no commits. */
  changesCount: string | null
  /** Merge base and target head when last merged or diffed; kept for merged requests, whose branch may be gone. */
  diffRefs: { baseSha: string; startSha: string; headSha: string } | null
}

export interface AutoMerge {
  readonly userId: number
  readonly squash: boolean
  readonly shouldRemoveSourceBranch: boolean | null
  readonly mergeCommitMessage: string | null
  readonly squashCommitMessage: string | null
}

export interface Note {
  readonly id: number
  readonly projectId: number
  readonly noteableType: 'MergeRequest' | 'Issue'
  readonly noteableIid: number
  readonly authorId: number
  body: string
  readonly system: boolean
  readonly createdAt: string
  updatedAt: string
  /** Of a note in a thread that can be resolved: the thread, and who resolved it when. Others are on their own. */
  readonly discussionId?: string
  resolved?: { readonly userId: number; readonly at: string } | null
}

export type JobStatus = 'created' | 'pending' | 'running' | 'success' | 'failed' | 'canceled' | 'skipped' | 'manual'
export type PipelineStatus = JobStatus

export interface Pipeline {
  readonly id: number
  readonly iid: number
  readonly projectId: number
  readonly sha: string
  /** `refs/merge-requests/<iid>/head` (`…/merge` for merged results) for merge request pipelines, else the branch. */
  readonly ref: string
  readonly source: 'push' | 'merge_request_event' | 'web' | 'api' | 'external' | 'parent_pipeline' | 'pipeline'
  /** Of a merged-results pipeline, whose `sha` is a temporary merge commit: the head that was merged. */
  readonly sourceSha?: string
  /** The bridge that started it: a child pipeline, or one of another project. */
  readonly bridgeId?: number
  readonly userId: number
  /** Set for merge request pipelines. */
  readonly mergeRequestIid: number | null
  readonly beforeSha: string
  /** In order; from the configuration at `sha`. */
  stages: readonly string[]
  status: PipelineStatus
  yamlErrors: string | null
  readonly createdAt: string
  updatedAt: string
  startedAt: string | null
  finishedAt: string | null
}

export interface JobOutcome {
  readonly status: 'success' | 'failed'
  /** Null for a success. */
  readonly failureReason: string | null
  /** Printed instead of the job's own log. */
  readonly log: string | null
}

export interface Trigger {
  /** Full path of another project; null: a child pipeline in the same one. */
  readonly project: string | null
  /** How the one job of that pipeline ends. */
  readonly ends: 'success' | 'failed' | 'running'
  /** How each attempt of that job ends, instead; null or left out: as `ends` says. */
  readonly outcomes?: readonly JobOutcome[] | null
  readonly seconds: number
  /** `depend`: the bridge takes over that pipeline's status. Else it is green once that pipeline is there. */
  readonly strategy: 'depend' | null
}

/** What a job does when it runs, as `.sandbox-ci.yml` says; kept with the job, so a restart needs no repository. */
export interface JobScript {
  readonly when: 'on_success' | 'on_failure' | 'always' | 'manual'
  readonly seconds: number
  readonly interruptible: boolean
  readonly log: string
  /** Makes the job a bridge: it runs nothing itself, it starts a pipeline. */
  readonly trigger?: Trigger
  /** By attempt; the last entry repeats. Never empty. */
  readonly outcomes: readonly JobOutcome[]
}

/** `bridge`: starts another pipeline. `external`: a commit status that somebody else reports. */
export type JobKind = 'build' | 'bridge' | 'external'

export interface Job {
  readonly id: number
  /** `build` when left out. */
  readonly kind?: JobKind
  readonly projectId: number
  readonly pipelineId: number
  readonly userId: number
  readonly name: string
  readonly stage: string
  status: JobStatus
  readonly allowFailure: boolean
  failureReason: string | null
  trace: string
  /** True once a newer attempt replaced it: it leaves the default list. */
  retried: boolean
  /** Which attempt of this job name in this pipeline it is, from 1. */
  readonly attempt: number
  readonly script: JobScript
  /** Of an external one: what its reporter says about it. */
  description?: string | null
  targetUrl?: string | null
  readonly createdAt: string
  /** When it became pending. */
  queuedAt: string | null
  startedAt: string | null
  finishedAt: string | null
}

export interface State {
  nextId: number
  users: User[]
  tokens: Token[]
  groups: Group[]
  projects: Project[]
  mergeRequests: MergeRequest[]
  notes: Note[]
  pipelines: Pipeline[]
  jobs: Job[]
}

/** One push to one branch, whatever made it (commits API, merge, rebase, git push). */
export interface Push {
  readonly project: Project
  readonly branch: string
  /** 40 zeros: the branch is new. */
  readonly before: string
  /** 40 zeros: the branch is gone. */
  readonly after: string
  readonly userId: number
  /** How many branches the same `git push` changed; 1 when left out. */
  readonly branchesInPush?: number
}

/** The signals. Listeners run in the order they were added, synchronously, after the record was changed. */
export interface SandboxSignals {
  push: [Push]
  /** `action` as in GitLab's merge request hook: open, reopen, close, merge, update, approved, unapproved. */
  merge_request: [
    { mergeRequest: MergeRequest; action: string; userId: number; oldrev?: string; changes: Record<string, unknown> },
  ]
  pipeline: [{ pipeline: Pipeline }]
  job: [{ job: Job }]
  /** `edited`: it was there before. */
  note: [{ note: Note; edited?: boolean }]
}

export class Signals extends EventEmitter<SandboxSignals> {}
