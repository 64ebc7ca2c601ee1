/** Jobs as JSON, in the one form that lists and single reads share. */
import type { SandboxContext } from '../context.ts'
import { type Commit, readCommit } from '../git/repository.ts'
import { presentCommit } from '../present/commit.ts'
import { presentPipelineBasic } from '../present/pipeline.ts'
import { projectUrl } from '../present/project.ts'
import { presentUserId } from '../present/user.ts'
import type { Job, Pipeline, Project } from '../state.ts'
import { downstreamOf } from './bridges.ts'

/** The one runner of the sandbox. */
export const RUNNER = { id: 1, description: 'sandbox-runner', tags: ['sandbox'] } as const

export function secondsBetween(from: string | null, to: string | null): number | null {
  return from === null || to === null ? null : (Date.parse(to) - Date.parse(from)) / 1000
}

function jobUrl(context: SandboxContext, project: Project, job: Job): string {
  return `${projectUrl(context, project)}/-/jobs/${job.id}`
}

/** Jobs of one pipeline, in the given order. */
export async function presentJobs(
  context: SandboxContext,
  project: Project,
  pipeline: Pipeline,
  jobs: readonly Job[],
): Promise<readonly object[]> {
  const commit = await readCommit(context.git(project), pipeline.sha)
  return jobs.map((job) => presentJob(context, project, pipeline, job, commit))
}

/** The same for bridges, with the pipeline that each has started. */
export async function presentBridges(
  context: SandboxContext,
  project: Project,
  pipeline: Pipeline,
  bridges: readonly Job[],
): Promise<readonly object[]> {
  const presented = await presentJobs(context, project, pipeline, bridges)
  return presented.map((job, index) => {
    const bridge = bridges[index]
    const downstream = bridge === undefined ? null : downstreamOf(context, bridge)
    return { ...job, downstream_pipeline: downstream && presentPipelineBasic(context, downstream) }
  })
}

function presentJob(
  context: SandboxContext,
  project: Project,
  pipeline: Pipeline,
  job: Job,
  commit: Commit | null,
): object {
  const until = job.finishedAt ?? (job.status === 'running' ? context.timestamp() : null)
  return {
    id: job.id,
    status: job.status,
    stage: job.stage,
    name: job.name,
    ref: pipeline.ref,
    tag: false,
    coverage: null,
    allow_failure: job.allowFailure,
    created_at: job.createdAt,
    started_at: job.startedAt,
    finished_at: job.finishedAt,
    erased_at: null,
    duration: secondsBetween(job.startedAt, until),
    queued_duration: secondsBetween(job.queuedAt, job.startedAt),
    user: presentUserId(context, job.userId),
    commit: commit && presentCommit(context, project, commit),
    pipeline: presentPipelineBasic(context, pipeline),
    ...(job.status === 'failed' ? { failure_reason: job.failureReason ?? 'unknown_failure' } : {}),
    web_url: jobUrl(context, project, job),
    project: { ci_job_token_scope_enabled: false },
    artifacts: [],
    artifacts_file: null,
    artifacts_expire_at: null,
    runner: job.startedAt === null ? null : presentRunner(),
    runner_manager: null,
    tag_list: [],
    archived: false,
  }
}

function presentRunner(): object {
  return {
    id: RUNNER.id,
    description: RUNNER.description,
    ip_address: '127.0.0.1',
    active: true,
    paused: false,
    is_shared: true,
    runner_type: 'instance_type',
    name: 'gitlab-runner',
    online: true,
    status: 'online',
  }
}
