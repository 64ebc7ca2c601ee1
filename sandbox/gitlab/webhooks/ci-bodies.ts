/** Bodies of `Pipeline Hook` and `Job Hook`. They take copies of records, so that later changes do not show in them. */
import { branchOf } from '../ci/jobs.ts'
import { RUNNER, secondsBetween } from '../ci/present.ts'
import { isCompleted } from '../ci/status.ts'
import type { SandboxContext } from '../context.ts'
import { readCommit } from '../git/repository.ts'
import { detailedMergeStatus } from '../merge-requests/status.ts'
import { presentPipelineDetail } from '../present/pipeline.ts'
import { projectUrl } from '../present/project.ts'
import { isProtected } from '../protection.ts'
import type { Job, Pipeline, Project } from '../state.ts'
import {
  hookCommitAt,
  hookMessage,
  hookProject,
  hookProjectShort,
  hookRepositoryLong,
  hookTime,
  hookUser,
} from './parts.ts'

/** `jobs`: the newest attempts. */
export async function pipelineBody(
  context: SandboxContext,
  project: Project,
  pipeline: Pipeline,
  jobs: readonly Job[],
): Promise<object> {
  const branch = branchOf(context, pipeline)
  const { detailed_status, duration, queued_duration, web_url } = presentPipelineDetail(context, pipeline)
  return {
    object_kind: 'pipeline',
    object_attributes: {
      id: pipeline.id,
      iid: pipeline.iid,
      name: null,
      ref: branch,
      tag: false,
      sha: pipeline.sha,
      before_sha: pipeline.beforeSha,
      source: pipeline.source,
      status: pipeline.status,
      detailed_status: detailed_status.label,
      stages: pipeline.stages,
      created_at: hookTime(pipeline.createdAt),
      finished_at: hookTime(pipeline.finishedAt),
      duration,
      queued_duration,
      protected_ref: isProtected(project, branch),
      variables: [],
      url: web_url,
    },
    merge_request: await mergeRequestOf(context, project, pipeline),
    user: hookUser(context, pipeline.userId),
    project: hookProjectShort(context, project),
    commit: await hookCommitAt(context, project, pipeline.sha),
    builds: jobs.map((job) => build(context, job)),
    ...sourcePipelineOf(context, pipeline),
  }
}

/** Of a pipeline that another one has started: which. */
function sourcePipelineOf(context: SandboxContext, { bridgeId }: Pipeline): object {
  const bridge = context.state.jobs.find((job) => job.id === bridgeId)
  const project = bridge && context.findProject(bridge.projectId)
  if (!bridge || !project) return {}
  const { id, pathWithNamespace: path_with_namespace } = project
  return {
    source_pipeline: {
      project: { id, web_url: projectUrl(context, project), path_with_namespace },
      pipeline_id: bridge.pipelineId,
      job_id: bridge.id,
    },
  }
}

export async function jobBody(
  context: SandboxContext,
  project: Project,
  job: Job,
  pipeline: Pipeline,
): Promise<object> {
  const times = {
    build_created_at: hookTime(job.createdAt),
    build_created_at_iso: job.createdAt,
    build_started_at: hookTime(job.startedAt),
    build_started_at_iso: job.startedAt,
    build_finished_at: hookTime(job.finishedAt),
    build_finished_at_iso: job.finishedAt,
  }
  return {
    object_kind: 'build',
    ref: pipeline.ref,
    tag: false,
    before_sha: pipeline.beforeSha,
    sha: pipeline.sha,
    retries_count: job.attempt - 1,
    build_id: job.id,
    build_name: job.name,
    build_stage: job.stage,
    build_status: job.status,
    ...times,
    build_duration: secondsBetween(job.startedAt, job.finishedAt),
    build_queued_duration: secondsBetween(job.queuedAt, job.startedAt),
    build_allow_failure: job.allowFailure,
    build_failure_reason: job.failureReason ?? 'unknown_failure',
    pipeline_id: pipeline.id,
    runner: runner(job),
    project_id: project.id,
    project_name: project.pathWithNamespace.split('/').join(' / '),
    user: hookUser(context, job.userId),
    commit: await pipelineAsCommit(context, project, pipeline),
    repository: hookRepositoryLong(context, project),
    project: hookProject(context, project),
    environment: null,
  }
}

async function mergeRequestOf(context: SandboxContext, project: Project, pipeline: Pipeline): Promise<object | null> {
  if (pipeline.mergeRequestIid === null) return null
  const mergeRequest = context.findMergeRequest(project.id, pipeline.mergeRequestIid)
  if (mergeRequest === null) return null
  return {
    id: mergeRequest.id,
    iid: mergeRequest.iid,
    title: mergeRequest.title,
    source_branch: mergeRequest.sourceBranch,
    source_project_id: project.id,
    target_branch: mergeRequest.targetBranch,
    target_project_id: project.id,
    state: mergeRequest.state,
    merge_status: mergeRequest.mergeStatus,
    detailed_merge_status: await detailedMergeStatus(context, project, mergeRequest),
    url: `${projectUrl(context, project)}/-/merge_requests/${mergeRequest.iid}`,
  }
}

/** What a job hook calls its commit is mostly about the pipeline; `id` is the pipeline's. */
async function pipelineAsCommit(context: SandboxContext, project: Project, pipeline: Pipeline): Promise<object> {
  const commit = await readCommit(context.git(project), pipeline.sha)
  const author = commit && context.state.users.find((user) => user.email === commit.author.email)
  return {
    id: pipeline.id,
    name: null,
    sha: pipeline.sha,
    message: commit && hookMessage(commit),
    author_name: commit?.author.name ?? null,
    author_email: commit?.author.email ?? null,
    author_url: author ? `${context.externalUrl}/${author.username}` : `mailto:${commit?.author.email ?? ''}`,
    status: pipeline.status,
    duration: isCompleted(pipeline.status) ? secondsBetween(pipeline.startedAt, pipeline.finishedAt) : null,
    started_at: hookTime(pipeline.startedAt),
    started_at_iso: pipeline.startedAt,
    finished_at: hookTime(pipeline.finishedAt),
    finished_at_iso: pipeline.finishedAt,
  }
}

function build(context: SandboxContext, job: Job): object {
  return {
    id: job.id,
    stage: job.stage,
    name: job.name,
    status: job.status,
    created_at: hookTime(job.createdAt),
    started_at: hookTime(job.startedAt),
    finished_at: hookTime(job.finishedAt),
    duration: secondsBetween(job.startedAt, job.finishedAt),
    queued_duration: secondsBetween(job.queuedAt, job.startedAt),
    failure_reason: job.failureReason,
    when: job.script.when,
    manual: job.script.when === 'manual',
    allow_failure: job.allowFailure,
    user: hookUser(context, job.userId),
    runner: runner(job),
    artifacts_file: { filename: null, size: null },
    environment: null,
  }
}

function runner(job: Job): object | null {
  if (job.startedAt === null) return null
  const { id, description, tags } = RUNNER
  return { id, description, runner_type: 'instance_type', active: true, is_shared: true, tags }
}
