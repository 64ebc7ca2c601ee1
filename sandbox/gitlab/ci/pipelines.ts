/**
 * The life of pipelines: made from the configuration at a commit, made redundant by a newer one, canceled, retried. When one
 * is due is the engine's affair (on signals) or a caller's (on request); how its jobs run is in jobs.ts.
 */
import type { SandboxContext } from '../context.ts'
import { listCommits, readFile, ZERO_SHA } from '../git/repository.ts'
import { mergeToBe } from '../merge-requests/merge.ts'
import { testedHead } from '../merge-requests/status.ts'
import type { Job, MergeRequest, Pipeline, Project } from '../state.ts'
import { asksToSkipCi, CI_CONFIG_PATH, type CiConfig, type JobConfig, parseCiConfig } from './config.ts'
import { advance, cancelJob, enqueue, jobsOf, kindOf, latestJobsOf, pipelineOf } from './jobs.ts'
import { isAlive } from './status.ts'

export interface PipelineRequest {
  readonly project: Project
  readonly sha: string
  /** The branch, also for merge request pipelines. */
  readonly branch: string
  readonly source: Pipeline['source']
  readonly userId: number
  readonly mergeRequest?: MergeRequest
  /** The old tip, for pushes. */
  readonly beforeSha?: string
  /** The head of a merged-results pipeline, whose `sha` is the merge to be. */
  readonly sourceSha?: string
}

export type PipelineResult = { readonly pipeline: Pipeline } | { readonly refused: string }

/**
 * Starts the pipeline that the configuration at `sha` describes. Refused, with GitLab's sentence, when there is none or
 * nothing in it is meant for this occasion. A pushed commit with a broken configuration gets a failed pipeline, one that
 * asks to skip a skipped one; somebody who asks for a pipeline by API is refused the first and never gets the second.
 */
export async function createPipeline(context: SandboxContext, request: PipelineRequest): Promise<PipelineResult> {
  const git = context.git(request.project)
  const text = await readFile(git, request.sha, CI_CONFIG_PATH)
  if (text === null) return { refused: 'Missing CI config file' }
  const [commit] = await listCommits(git, request.sha, { limit: 1 })
  const parsed = parseCiConfig(text.toString('utf8'))
  if ('error' in parsed) {
    if (request.source === 'api') return { refused: parsed.error }
    if (!isWanted(DEFAULT_WORKFLOW, request)) return { refused: 'Pipeline filtered out by workflow rules.' }
    return { pipeline: finishedPipeline(context, request, 'failed', parsed.error) }
  }
  const { config } = parsed
  if (!isWanted(config, request)) return { refused: 'Pipeline filtered out by workflow rules.' }
  const kind = request.mergeRequest === undefined ? 'branches' : 'merge_requests'
  const jobs = config.jobs.filter((job) => job.only === null || job.only === kind)
  if (jobs.length === 0) {
    return {
      refused: 'The resulting pipeline would have been empty. Review the rules configuration for the relevant jobs.',
    }
  }
  if (request.source !== 'api' && asksToSkipCi(commit?.message ?? '')) {
    return { pipeline: finishedPipeline(context, request, 'skipped', null) }
  }
  return { pipeline: startPipeline(context, await onMergedResults(context, request, config), config.stages, jobs) }
}

/** The request for the merge to be, where that is wished and git can merge the two; else as it was. */
async function onMergedResults(
  context: SandboxContext,
  request: PipelineRequest,
  { mergedResults }: CiConfig,
): Promise<PipelineRequest> {
  const { project, mergeRequest, sha } = request
  if (mergeRequest === undefined || !(mergedResults ?? project.mergePipelinesEnabled ?? false)) return request
  const merge = await mergeToBe(context, project, mergeRequest, sha)
  return merge === null ? request : { ...request, sha: merge, sourceSha: sha }
}

/** Stops what is not over yet, child pipelines too. */
export function cancelPipeline(context: SandboxContext, pipeline: Pipeline): void {
  const jobs = latestJobsOf(context, pipeline)
  for (const job of jobs) cancelJob(context, job)
  for (const child of context.state.pipelines) {
    if (child.source === 'parent_pipeline' && jobs.some((job) => job.id === child.bridgeId))
      cancelPipeline(context, child)
  }
  advance(context, pipeline)
}

/** Runs the failed and canceled jobs again, and after them what was skipped because of them. */
export function retryPipeline(context: SandboxContext, pipeline: Pipeline, userId: number): void {
  const failed = latestJobsOf(context, pipeline).filter(
    (job) => kindOf(job) !== 'external' && (job.status === 'failed' || job.status === 'canceled'),
  )
  for (const job of failed) cloneJob(context, job, userId)
  for (const job of failed) reviveSkipped(context, pipeline, job)
  advance(context, pipeline)
}

export function isRetryable(job: Job): boolean {
  return !job.retried && (job.status === 'success' || job.status === 'failed' || job.status === 'canceled')
}

/** Runs a finished job once more, as a new record. */
export function retryJob(context: SandboxContext, job: Job, userId: number): Job {
  const pipeline = pipelineOf(context, job)
  const again = cloneJob(context, job, userId)
  enqueue(context, again)
  reviveSkipped(context, pipeline, job)
  advance(context, pipeline)
  return again
}

/** Lets a manual job run. */
export function playJob(context: SandboxContext, job: Job): void {
  enqueue(context, job)
  advance(context, pipelineOf(context, job))
}

/** All pipelines of a merge request, newest first: its own, and those of its source branch at its head. */
export function pipelinesOf(context: SandboxContext, mergeRequest: MergeRequest): readonly Pipeline[] {
  const { projectId, iid, sourceBranch, sha } = mergeRequest
  return context.state.pipelines
    .filter((pipeline) => pipeline.projectId === projectId && pipeline.source !== 'parent_pipeline')
    .filter((pipeline) =>
      pipeline.mergeRequestIid === null
        ? pipeline.ref === sourceBranch && pipeline.sha === sha
        : pipeline.mergeRequestIid === iid,
    )
    .sort((a, b) => b.id - a.id)
}

/**
 * Points a merge request at the newest pipeline of its head; one of its own goes before one of the branch. Without any
 * the old one stays, though it belongs to an older commit, as in GitLab.
 */
export function updateHeadPipeline(context: SandboxContext, mergeRequest: MergeRequest): void {
  const fitting = pipelinesOf(context, mergeRequest).filter((pipeline) => testedHead(pipeline) === mergeRequest.sha)
  const head = fitting.find((pipeline) => pipeline.mergeRequestIid !== null) ?? fitting[0]
  if (head === undefined || head.id === mergeRequest.headPipelineId) return
  mergeRequest.headPipelineId = head.id
  context.save()
}

/** What counts where the file cannot be read. */
const DEFAULT_WORKFLOW = { mergeRequests: true, branches: 'default' } as const

function isWanted(config: Pick<CiConfig, 'mergeRequests' | 'branches'>, request: PipelineRequest): boolean {
  if (request.source === 'api') return true
  if (request.mergeRequest !== undefined) return config.mergeRequests
  return (
    config.branches === 'all' || (config.branches === 'default' && request.branch === request.project.defaultBranch)
  )
}

function startPipeline(
  context: SandboxContext,
  request: PipelineRequest,
  stages: readonly string[],
  jobs: readonly JobConfig[],
): Pipeline {
  const used = stages.filter((stage) => jobs.some((job) => job.stage === stage))
  const pipeline = addPipeline(context, request, used)
  for (const { name, stage, allowFailure, when, seconds, interruptible, log, outcomes, trigger } of jobs) {
    addJob(context, {
      kind: trigger === undefined ? 'build' : 'bridge',
      projectId: pipeline.projectId,
      pipelineId: pipeline.id,
      userId: request.userId,
      name,
      stage,
      allowFailure,
      attempt: 1,
      script: { when, seconds, interruptible, log, outcomes, ...(trigger === undefined ? {} : { trigger }) },
    })
  }
  cancelRedundant(context, pipeline)
  advance(context, pipeline)
  return pipeline
}

function finishedPipeline(
  context: SandboxContext,
  request: PipelineRequest,
  status: 'failed' | 'skipped',
  yamlErrors: string | null,
): Pipeline {
  const pipeline = addPipeline(context, request, [])
  pipeline.status = status
  pipeline.yamlErrors = yamlErrors
  pipeline.finishedAt = pipeline.createdAt
  context.signals.emit('pipeline', { pipeline })
  return pipeline
}

export function addPipeline(context: SandboxContext, request: PipelineRequest, stages: readonly string[]): Pipeline {
  const { project, mergeRequest, sourceSha } = request
  const kind = sourceSha === undefined ? 'head' : 'merge'
  const pipeline = keepPipeline(context, project, {
    sha: request.sha,
    ref: mergeRequest === undefined ? request.branch : `refs/merge-requests/${mergeRequest.iid}/${kind}`,
    source: mergeRequest === undefined ? request.source : 'merge_request_event',
    userId: request.userId,
    mergeRequestIid: mergeRequest?.iid ?? null,
    beforeSha: request.beforeSha ?? ZERO_SHA,
    stages,
    ...(sourceSha === undefined ? {} : { sourceSha }),
  })
  const { mergeRequests } = context.state
  for (const candidate of mergeRequests) {
    const concerned = candidate.state === 'opened' && candidate.projectId === project.id
    if (concerned && candidate.sourceBranch === request.branch) updateHeadPipeline(context, candidate)
  }
  return pipeline
}

/** Makes the record; what it means for merge requests and when its jobs start is the caller's affair. */
export function keepPipeline(
  context: SandboxContext,
  project: Project,
  given: Pick<Pipeline, 'sha' | 'ref' | 'source' | 'userId' | 'mergeRequestIid' | 'beforeSha' | 'stages'> &
    Pick<Pipeline, 'sourceSha' | 'bridgeId'>,
): Pipeline {
  const now = context.timestamp()
  const pipeline: Pipeline = {
    id: context.nextId(),
    iid: project.nextPipelineIid++,
    projectId: project.id,
    ...given,
    status: 'created',
    yamlErrors: null,
    createdAt: now,
    updatedAt: now,
    startedAt: null,
    finishedAt: null,
  }
  context.state.pipelines.push(pipeline)
  context.save()
  return pipeline
}

export function addJob(
  context: SandboxContext,
  job: Pick<
    Job,
    'kind' | 'projectId' | 'pipelineId' | 'userId' | 'name' | 'stage' | 'allowFailure' | 'attempt' | 'script'
  >,
): Job {
  const added: Job = {
    ...job,
    id: context.nextId(),
    status: 'created',
    failureReason: null,
    trace: '',
    retried: false,
    createdAt: context.timestamp(),
    queuedAt: null,
    startedAt: null,
    finishedAt: null,
  }
  context.state.jobs.push(added)
  context.save()
  context.signals.emit('job', { job: added })
  return added
}

function cloneJob(context: SandboxContext, job: Job, userId: number): Job {
  job.retried = true
  const { projectId, pipelineId, name, stage, allowFailure, script, attempt } = job
  const same = { kind: kindOf(job), projectId, pipelineId, name, stage, allowFailure, script }
  return addJob(context, { ...same, userId, attempt: attempt + 1 })
}

/** Jobs after `job` that were skipped get their turn again. */
function reviveSkipped(context: SandboxContext, pipeline: Pipeline, job: Job): void {
  const stageOf = (candidate: Job) => pipeline.stages.indexOf(candidate.stage)
  for (const later of latestJobsOf(context, pipeline)) {
    if (later.status !== 'skipped' || stageOf(later) <= stageOf(job)) continue
    later.status = 'created'
    context.signals.emit('job', { job: later })
  }
}

/**
 * GitLab's default: a newer pipeline of the same ref cancels an older one for another commit, unless a job of that one
 * has started which is not interruptible.
 */
function cancelRedundant(context: SandboxContext, newer: Pipeline): void {
  for (const older of context.state.pipelines) {
    const same = older.projectId === newer.projectId && older.ref === newer.ref
    if (!same || older.id >= newer.id || testedHead(older) === testedHead(newer)) continue
    if (!isAlive(older.status) && older.status !== 'manual') continue
    const busy = jobsOf(context, older).some((job) => job.startedAt !== null && !job.script.interruptible)
    if (!busy) cancelPipeline(context, older)
  }
}
