/**
 * What GitLab's answers must look like for us. Objects are loose: only the fields we use are read, so a new field breaks
 * nothing, and words that GitLab may add to (detailed_merge_status, pipeline status) stay text. Each schema answers with
 * the port's own shape.
 */
import { z } from 'zod'
import type {
  GitLabApprovals,
  GitLabBranch,
  GitLabBridge,
  GitLabCommit,
  GitLabCompare,
  GitLabFile,
  GitLabJob,
  GitLabMergeRequest,
  GitLabNote,
  GitLabOwnUser,
  GitLabPipeline,
  GitLabProject,
  GitLabTreeEntry,
} from './port.ts'

const optionalText = z.string().nullish()
const optionalFlag = z.boolean().nullish()

export const projectSchema = z
  .looseObject({
    id: z.int(),
    path_with_namespace: z.string(),
    default_branch: optionalText,
    archived: optionalFlag,
    merge_method: optionalText,
    squash_option: optionalText,
    web_url: z.string(),
    only_allow_merge_if_pipeline_succeeds: optionalFlag,
    ci_config_path: optionalText,
  })
  .transform(
    (project): GitLabProject => ({
      id: project.id,
      path: project.path_with_namespace,
      defaultBranch: project.default_branch ?? null,
      archived: project.archived ?? false,
      mergeMethod: project.merge_method ?? 'merge',
      squashOption: project.squash_option ?? 'default_off',
      webUrl: project.web_url,
      onlyAllowMergeIfPipelineSucceeds: project.only_allow_merge_if_pipeline_succeeds ?? false,
      ciConfigPath: project.ci_config_path || null,
    }),
  )

export const ownUserSchema = z
  .looseObject({ id: z.int(), commit_email: optionalText, email: optionalText })
  .transform(({ id, commit_email, email }): GitLabOwnUser => ({ id, commitEmail: commit_email || email || null }))

export const usersSchema = z.array(z.looseObject({ id: z.int(), username: z.string() }))

export const branchSchema = z
  .looseObject({
    name: z.string(),
    protected: optionalFlag,
    default: optionalFlag,
    commit: z.looseObject({
      id: z.string(),
      message: optionalText,
      parent_ids: z.array(z.string()).nullish(),
      committer_email: optionalText,
      committed_date: optionalText,
    }),
  })
  .transform(
    ({ name, commit, ...branch }): GitLabBranch => ({
      name,
      sha: commit.id,
      // What is not said to be free is taken for protected: the safe reading.
      protected: branch.protected ?? true,
      default: branch.default ?? false,
      headMessage: commit.message ?? '',
      parentShas: commit.parent_ids ?? [],
      committerEmail: commit.committer_email ?? null,
      committedAt: commit.committed_date ?? null,
    }),
  )

export const treeSchema = z.array(
  z
    .looseObject({ id: z.string(), type: z.enum(['blob', 'tree', 'commit']), path: z.string(), mode: z.string() })
    .transform(({ id, type, path, mode }): GitLabTreeEntry => ({ id, type, path, mode })),
)

export const commitSchema = z
  .looseObject({ id: z.string(), parent_ids: z.array(z.string()).nullish() })
  .transform(({ id, parent_ids }): GitLabCommit => ({ sha: id, parentShas: parent_ids ?? [] }))

/** GitLab sends a file's bytes as base64. */
export const fileSchema = z
  .looseObject({ encoding: z.literal('base64'), content: z.string() })
  .transform(({ content }): GitLabFile => ({ content: Buffer.from(content, 'base64') }))

export const compareSchema = z
  .looseObject({
    commits: z.array(z.unknown()),
    compare_timeout: optionalFlag,
    diffs: z.array(
      z.looseObject({
        old_path: z.string(),
        new_path: z.string(),
        a_mode: z.string(),
        b_mode: z.string(),
        new_file: optionalFlag,
        renamed_file: optionalFlag,
        deleted_file: optionalFlag,
      }),
    ),
  })
  .transform(
    ({ commits, compare_timeout, diffs }): GitLabCompare => ({
      commitCount: commits.length,
      timedOut: compare_timeout ?? false,
      diffs: diffs.map((diff) => ({
        oldPath: diff.old_path,
        newPath: diff.new_path,
        oldMode: diff.a_mode,
        newMode: diff.b_mode,
        newFile: diff.new_file ?? false,
        renamedFile: diff.renamed_file ?? false,
        deletedFile: diff.deleted_file ?? false,
      })),
    }),
  )

const pipelineSchema = z
  .looseObject({
    id: z.int(),
    project_id: z.int().nullish(),
    sha: z.string(),
    status: z.string(),
    source: optionalText,
    ref: optionalText,
    web_url: optionalText,
  })
  .transform(
    ({ id, project_id, sha, status, source, ref, web_url }): GitLabPipeline => ({
      id,
      projectId: project_id ?? null,
      sha,
      status,
      source: source ?? '',
      ref: ref ?? '',
      webUrl: web_url ?? '',
    }),
  )

const peopleSchema = z
  .array(z.looseObject({ id: z.int() }).transform(({ id }) => id))
  .nullish()
  .transform((ids) => ids ?? [])

export const mergeRequestSchema = z
  .looseObject({
    iid: z.int(),
    project_id: z.int(),
    source_project_id: z.int().nullish(),
    title: z.string(),
    description: optionalText,
    state: z.enum(['opened', 'closed', 'locked', 'merged']),
    draft: optionalFlag,
    source_branch: z.string(),
    target_branch: z.string(),
    sha: optionalText,
    labels: z.array(z.string()).nullish(),
    assignees: peopleSchema,
    reviewers: peopleSchema,
    detailed_merge_status: optionalText,
    merge_status: optionalText,
    has_conflicts: optionalFlag,
    merge_error: optionalText,
    merge_commit_sha: optionalText,
    squash_commit_sha: optionalText,
    merged_at: optionalText,
    web_url: z.string(),
    squash: optionalFlag,
    force_remove_source_branch: optionalFlag,
    head_pipeline: pipelineSchema.nullish(),
  })
  .transform(
    (mr): GitLabMergeRequest => ({
      iid: mr.iid,
      projectId: mr.project_id,
      sourceProjectId: mr.source_project_id ?? null,
      title: mr.title,
      description: mr.description ?? '',
      state: mr.state,
      draft: mr.draft ?? false,
      sourceBranch: mr.source_branch,
      targetBranch: mr.target_branch,
      sha: mr.sha ?? null,
      labels: mr.labels ?? [],
      assigneeIds: mr.assignees,
      reviewerIds: mr.reviewers,
      detailedMergeStatus: mr.detailed_merge_status ?? mr.merge_status ?? 'unknown',
      hasConflicts: mr.has_conflicts ?? false,
      mergeError: mr.merge_error ?? null,
      // A fast-forward has no merge commit: then it is the squashed commit, or the head itself, that landed.
      mergeCommitSha: mr.merge_commit_sha ?? mr.squash_commit_sha ?? null,
      mergedAt: mr.merged_at ?? null,
      webUrl: mr.web_url,
      squash: mr.squash ?? false,
      removeSourceBranch: mr.force_remove_source_branch ?? false,
      headPipeline: mr.head_pipeline ?? null,
    }),
  )

export const mergeRequestsSchema = z.array(mergeRequestSchema)

export const notesSchema = z.array(
  z
    .looseObject({ id: z.int(), body: z.string(), system: optionalFlag, author: z.looseObject({ id: z.int() }) })
    .transform(
      ({ id, body, system, author }): GitLabNote => ({ id, body, system: system ?? false, authorId: author.id }),
    ),
)

export const newNoteSchema = z.looseObject({ id: z.int() })

export const mergeRefSchema = z.looseObject({ commit_id: z.string() })

export const approvalsSchema = z
  .looseObject({
    approvals_left: z.int().nullish(),
    approved_by: z.array(
      z.looseObject({ user: z.looseObject({ id: z.int(), username: z.string() }), approved_at: optionalText }),
    ),
  })
  .transform(
    ({ approvals_left, approved_by }): GitLabApprovals => ({
      approvalsLeft: approvals_left ?? null,
      approvedBy: approved_by.map(({ user, approved_at }) => ({
        userId: user.id,
        username: user.username,
        approvedAt: approved_at ?? null,
      })),
    }),
  )

const jobFields = {
  id: z.int(),
  name: z.string(),
  stage: optionalText,
  status: z.string(),
  allow_failure: optionalFlag,
  failure_reason: optionalText,
  web_url: optionalText,
}

function toJob(job: z.infer<z.ZodObject<typeof jobFields>>): GitLabJob {
  return {
    id: job.id,
    name: job.name,
    stage: job.stage ?? '',
    status: job.status,
    allowFailure: job.allow_failure ?? false,
    failureReason: job.failure_reason ?? null,
    webUrl: job.web_url ?? '',
  }
}

export const jobSchema = z.looseObject(jobFields).transform(toJob)

export const jobsSchema = z.array(jobSchema)

export const bridgesSchema = z.array(
  z
    .looseObject({ ...jobFields, downstream_pipeline: pipelineSchema.nullish() })
    .transform(
      ({ downstream_pipeline, ...job }): GitLabBridge => ({ ...toJob(job), downstream: downstream_pipeline ?? null }),
    ),
)

/** Of a member of a group; `state` is `active`, or awaits something. */
export const memberSchema = z.looseObject({ id: z.int(), state: optionalText })
