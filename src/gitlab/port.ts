/**
 * The GitLab port: all that the service asks of GitLab, in its own words. Executors know only this interface; gitbeaker
 * stays behind it. Every call has a timeout and takes the item's abort signal; a write refuses to start when the signal
 * is aborted. What is missing is null where the caller has to decide about it, and an error where it must be there.
 *
 * All calls throw GitLabError (see errors.ts): `failure: 'transient'` for network, timeout, 429 and 5xx, `permanent` for the rest.
 */

export interface CallOptions {
  readonly signal?: AbortSignal
}

export interface GitLabProject {
  readonly id: number
  readonly path: string
  /** null in an empty repository. */
  readonly defaultBranch: string | null
  readonly archived: boolean
  /** `merge`, `rebase_merge` or `ff`. */
  readonly mergeMethod: string
  /** `never`, `always`, `default_on` or `default_off`. */
  readonly squashOption: string
  readonly webUrl: string
  readonly onlyAllowMergeIfPipelineSucceeds: boolean
  /** Where the project keeps its pipeline definition when it is not `.gitlab-ci.yml`; null when it is. */
  readonly ciConfigPath: string | null
}

export interface GitLabBranch {
  readonly name: string
  readonly sha: string
  readonly protected: boolean
  readonly default: boolean
  /** Full message of the head commit, for the trailers in it. */
  readonly headMessage: string
  readonly parentShas: readonly string[]
  /** Of the head commit; commits made through the API carry the token's user, who cannot be chosen by a caller. */
  readonly committerEmail: string | null
  /** When the head commit was made, by GitLab's clock where it was made through the API; ISO 8601, or null. */
  readonly committedAt: string | null
}

export interface GitLabCommit {
  readonly sha: string
  readonly parentShas: readonly string[]
}

export interface GitLabCommitAction {
  readonly action: 'create' | 'update' | 'delete' | 'move' | 'chmod'
  readonly file_path: string
  readonly previous_path?: string
  readonly content?: string
  readonly encoding?: 'text' | 'base64'
  readonly execute_filemode?: boolean
}

export interface GitLabCommitRequest {
  readonly branch: string
  readonly startSha: string
  readonly message: string
  readonly actions: readonly GitLabCommitAction[]
  /** Replaces the branch when it exists. */
  readonly force: boolean
}

export interface GitLabTreeEntry {
  /** `100644`, `100755`, `120000` (symlink), `160000` (submodule), `040000` (directory). */
  readonly mode: string
  readonly type: 'blob' | 'tree' | 'commit'
  readonly path: string
  readonly id: string
}

export interface GitLabFile {
  readonly content: Buffer
}

export interface GitLabDiff {
  readonly oldPath: string
  readonly newPath: string
  readonly oldMode: string
  readonly newMode: string
  readonly newFile: boolean
  readonly renamedFile: boolean
  readonly deletedFile: boolean
}

export interface GitLabCompare {
  readonly diffs: readonly GitLabDiff[]
  readonly commitCount: number
  readonly timedOut: boolean
}

export interface GitLabPipeline {
  readonly id: number
  /** null where GitLab does not say: then it is the project that was asked about. */
  readonly projectId: number | null
  /** The commit it ran on; of a merged-results pipeline a temporary merge commit. */
  readonly sha: string
  /** Any text: unknown values must survive. */
  readonly status: string
  /** `merge_request_event`, `push`, `external`, `parent_pipeline`, …; '' when GitLab does not say. */
  readonly source: string
  /** A branch, `refs/merge-requests/<iid>/head`, or `…/merge` for merged results; '' when GitLab does not say. */
  readonly ref: string
  readonly webUrl: string
}

/** One run of a job: running it again makes a new one, with a new id and the same name. */
export interface GitLabJob {
  readonly id: number
  readonly name: string
  readonly stage: string
  /** Any text: unknown values must survive. */
  readonly status: string
  readonly allowFailure: boolean
  /** Why it failed, in GitLab's words; any text. null: it did not fail, or GitLab does not say. */
  readonly failureReason: string | null
  readonly webUrl: string
}

/** A job that starts a pipeline elsewhere: a child in the same project, or one of another project. */
export interface GitLabBridge extends GitLabJob {
  /** null as long as it has started none. */
  readonly downstream: GitLabPipeline | null
}

export interface GitLabApprovals {
  /** Who has approved and not taken it back. `approvedAt`: ISO 8601, null on servers that do not say. */
  readonly approvedBy: readonly {
    readonly userId: number
    readonly username: string
    readonly approvedAt: string | null
  }[]
  /** null on the free tier, which requires none. */
  readonly approvalsLeft: number | null
}

export interface GitLabNote {
  readonly id: number
  readonly body: string
  readonly system: boolean
  readonly authorId: number
}

/** The user behind the service's token. */
export interface GitLabOwnUser {
  readonly id: number
  /** The address that commits of this user carry; null when GitLab does not say. */
  readonly commitEmail: string | null
}

export interface GitLabMergeRequest {
  readonly iid: number
  readonly projectId: number
  /** Differs from projectId in a merge request from a fork; null when the fork is gone. */
  readonly sourceProjectId: number | null
  readonly title: string
  readonly description: string
  readonly state: 'opened' | 'closed' | 'locked' | 'merged'
  readonly draft: boolean
  readonly sourceBranch: string
  readonly targetBranch: string
  /** Head of the source branch as the merge request knows it; null when the branch is gone. */
  readonly sha: string | null
  readonly labels: readonly string[]
  readonly assigneeIds: readonly number[]
  readonly reviewerIds: readonly number[]
  /** Any text: unknown values must survive. */
  readonly detailedMergeStatus: string
  readonly hasConflicts: boolean
  readonly mergeError: string | null
  readonly mergeCommitSha: string | null
  readonly mergedAt: string | null
  readonly webUrl: string
  readonly squash: boolean
  readonly removeSourceBranch: boolean
  /** null in lists. */
  readonly headPipeline: GitLabPipeline | null
}

export interface GitLabMergeRequestFields {
  readonly title: string
  readonly description: string
  readonly labels: readonly string[]
  readonly assigneeIds: readonly number[]
  readonly reviewerIds: readonly number[]
  readonly squash: boolean
  readonly removeSourceBranch: boolean
}

export type GitLabMergeRequestChanges = Partial<Omit<GitLabMergeRequestFields, 'labels'>> & {
  /** Added to those that are there by then: whoever sets one at the same moment does not lose it. */
  readonly addLabels?: readonly string[]
  readonly targetBranch?: string
  /** One that does not fit the state (close a merged one) changes nothing and is no error: look at the answer. */
  readonly stateEvent?: 'close' | 'reopen'
}

/** What GitLab said to a merge: done, or a fact to look at again (401, 405, 406, 409, 422, or a 200 that did not merge). */
export type GitLabMergeAnswer =
  | { readonly merged: true; readonly mergeRequest: GitLabMergeRequest }
  | { readonly merged: false; readonly status: number; readonly message: string }

/** What GitLab said to a retry: the new run, or why there is none (mostly 403): look at the jobs once more. */
export type GitLabRetryAnswer =
  | { readonly retried: true; readonly job: GitLabJob }
  | { readonly retried: false; readonly message: string }

export interface GitLab {
  /** null: missing, or not visible to our token (GitLab answers 404 to both). `project` is a full path or a number. */
  getProject(project: string | number, options?: CallOptions): Promise<GitLabProject | null>
  getOwnUser(options?: CallOptions): Promise<GitLabOwnUser>
  /** The id of the user with exactly this name; null when there is none. */
  getUserId(username: string, options?: CallOptions): Promise<number | null>
  /** Is this user a member of the group (a full path), directly or through a group above it? */
  isGroupMember(group: string, userId: number, options?: CallOptions): Promise<boolean>

  getBranch(projectId: number, branch: string, options?: CallOptions): Promise<GitLabBranch | null>
  deleteBranch(projectId: number, branch: string, options?: CallOptions): Promise<void>
  /** Entries directly in one directory (`''` = root) at `ref`; all pages; empty when the directory does not exist. */
  listTree(
    projectId: number,
    directory: string,
    ref: string,
    options?: CallOptions,
  ): Promise<readonly GitLabTreeEntry[]>
  /** One file as it is at `ref`; null when there is none. */
  getFile(projectId: number, path: string, ref: string, options?: CallOptions): Promise<GitLabFile | null>
  /** @throws GitLabError, permanent on 400 with GitLab's sentence. */
  createCommit(projectId: number, request: GitLabCommitRequest, options?: CallOptions): Promise<GitLabCommit>
  /** null when there is none of this id. */
  getCommit(projectId: number, sha: string, options?: CallOptions): Promise<GitLabCommit | null>
  /** `straight`: compare the two trees themselves, not from the merge base. */
  compare(projectId: number, from: string, to: string, straight: boolean, options?: CallOptions): Promise<GitLabCompare>

  /** The open merge request of this branch pair in the project itself, never one from a fork; null when there is none. */
  findOpenMergeRequest(
    projectId: number,
    sourceBranch: string,
    targetBranch: string,
    options?: CallOptions,
  ): Promise<GitLabMergeRequest | null>
  /** @throws GitLabError `merge_request_exists` (409), `source_branch_missing` (400, also for seconds after a push). */
  createMergeRequest(
    projectId: number,
    branches: { readonly sourceBranch: string; readonly targetBranch: string },
    fields: GitLabMergeRequestFields,
    options?: CallOptions,
  ): Promise<GitLabMergeRequest>
  /** The single, uncached read; also starts GitLab's mergeability check. null when it does not exist. */
  getMergeRequest(projectId: number, iid: number, options?: CallOptions): Promise<GitLabMergeRequest | null>
  updateMergeRequest(
    projectId: number,
    iid: number,
    fields: GitLabMergeRequestChanges,
    options?: CallOptions,
  ): Promise<GitLabMergeRequest>
  mergeMergeRequest(
    projectId: number,
    iid: number,
    request: { readonly sha: string; readonly squash: boolean; readonly removeSourceBranch: boolean },
    options?: CallOptions,
  ): Promise<GitLabMergeAnswer>

  /** The commit that merging now would make, first parent the target's head; null when they cannot be merged. */
  getMergeRef(projectId: number, iid: number, options?: CallOptions): Promise<string | null>
  getApprovals(projectId: number, iid: number, options?: CallOptions): Promise<GitLabApprovals>
  /** The pipelines that one pipeline has started. */
  listBridges(projectId: number, pipelineId: number, options?: CallOptions): Promise<readonly GitLabBridge[]>

  /** All jobs of one pipeline with all their runs, in no order; without bridges. */
  listJobs(projectId: number, pipelineId: number, options?: CallOptions): Promise<readonly GitLabJob[]>
  /** null: there is none, or it is a bridge. */
  getJob(projectId: number, jobId: number, options?: CallOptions): Promise<GitLabJob | null>
  /**
   * The last bytes of a job's log, as it is: with colours and marks, and perhaps cut within a character. null: GitLab does
   * not show it, or not in time, or it is absurdly long.
   */
  getJobLogTail(projectId: number, jobId: number, maxBytes: number, options?: CallOptions): Promise<string | null>
  /** Runs a job again. Not idempotent; but a run that was followed by another is refused. */
  retryJob(projectId: number, jobId: number, options?: CallOptions): Promise<GitLabRetryAnswer>

  /** Answers the id of the note. */
  createNote(projectId: number, iid: number, body: string, options?: CallOptions): Promise<number>
  /** false: the note is gone. */
  updateNote(projectId: number, iid: number, noteId: number, body: string, options?: CallOptions): Promise<boolean>
  listNotes(projectId: number, iid: number, options?: CallOptions): Promise<readonly GitLabNote[]>
}
