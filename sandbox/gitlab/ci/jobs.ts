/**
 * The life of jobs: when a stage lets them start, how long they run, how they end, and what their states make of their
 * pipeline. Functions over the records; everything that happens later is a timer of the sandbox, which checks on firing
 * that the job is still where it was left, so nothing has to be called off. Every change of status is saved and signalled.
 */
import type { SandboxContext } from '../context.ts'
import type { Job, JobKind, JobStatus, Pipeline } from '../state.ts'
import { compositeStatus, isAlive, isCompleted, promotedStatus } from './status.ts'
import { closingTrace, openingTrace } from './trace.ts'

/** How long a pending job waits for a runner. */
const PICK_UP_MS = 400

/** All jobs of a pipeline, retried ones too, oldest first. */
export function jobsOf(context: SandboxContext, pipeline: Pipeline): readonly Job[] {
  return context.state.jobs.filter((job) => job.pipelineId === pipeline.id)
}

export function kindOf(job: Job): JobKind {
  return job.kind ?? 'build'
}

/** The newest attempt of each job, in the order of stages. */
export function latestJobsOf(context: SandboxContext, pipeline: Pipeline): readonly Job[] {
  const stageOf = (job: Job) => pipeline.stages.indexOf(job.stage)
  return jobsOf(context, pipeline)
    .filter((job) => !job.retried)
    .sort((a, b) => stageOf(a) - stageOf(b) || a.id - b.id)
}

/** The branch a pipeline works on: for a merge request pipeline its source branch. */
export function branchOf(context: SandboxContext, pipeline: Pipeline): string {
  if (pipeline.mergeRequestIid === null) return pipeline.ref
  return context.findMergeRequest(pipeline.projectId, pipeline.mergeRequestIid)?.sourceBranch ?? pipeline.ref
}

/** Lets every job start whose turn has come, and settles the pipeline's status. To be called after each change. */
export function advance(context: SandboxContext, pipeline: Pipeline): void {
  const jobs = latestJobsOf(context, pipeline)
  for (const [index, stage] of pipeline.stages.entries()) {
    const earlier = jobs.filter((job) => pipeline.stages.indexOf(job.stage) < index)
    const prior = compositeStatus(earlier)
    for (const job of jobs.filter((candidate) => candidate.stage === stage && candidate.status === 'created')) {
      const status = promotedStatus(job.script.when, prior)
      if (status === 'pending') enqueue(context, job)
      else if (status !== null) setJobStatus(context, job, status)
    }
  }
  if (jobs.length > 0) setPipelineStatus(context, pipeline, compositeStatus(jobs))
}

/** Offers a job to the runners. */
export function enqueue(context: SandboxContext, job: Job): void {
  job.queuedAt = context.timestamp()
  setJobStatus(context, job, 'pending')
  // What starts a bridge is in bridges.ts.
  if (kindOf(job) === 'build') awaitRunner(context, job)
}

/** Sets the timers of a job anew, as after a restart. */
export function resume(context: SandboxContext, job: Job): void {
  if (kindOf(job) !== 'build') return
  if (job.status === 'pending') awaitRunner(context, job)
  if (job.status === 'running') {
    const ranMs = job.startedAt === null ? 0 : context.clock.now().getTime() - Date.parse(job.startedAt)
    awaitEnd(context, job, Math.max(0, job.script.seconds * 1000 - ranMs * context.timeScale))
  }
}

/** Stops a job that is not over yet; says whether there was anything to stop. */
export function cancelJob(context: SandboxContext, job: Job): boolean {
  if (!isAlive(job.status)) return false
  setJobStatus(context, job, 'canceled')
  return true
}

export function pipelineOf(context: SandboxContext, job: Job): Pipeline {
  const pipeline = context.state.pipelines.find((candidate) => candidate.id === job.pipelineId)
  if (pipeline === undefined) throw new Error(`job ${job.id} has lost its pipeline ${job.pipelineId}`)
  return pipeline
}

function awaitRunner(context: SandboxContext, job: Job): void {
  context.later(PICK_UP_MS, `start of job ${job.id}`, () => {
    if (job.status !== 'pending') return
    const pipeline = pipelineOf(context, job)
    job.trace = openingTrace(job, branchOf(context, pipeline), pipeline.sha, context.clock.now())
    setJobStatus(context, job, 'running')
    awaitEnd(context, job, job.script.seconds * 1000)
    advance(context, pipeline)
  })
}

function awaitEnd(context: SandboxContext, job: Job, ms: number): void {
  context.later(ms, `end of job ${job.id}`, () => {
    if (job.status !== 'running') return
    const { outcomes } = job.script
    const outcome = outcomes[Math.min(job.attempt, outcomes.length) - 1]
    if (outcome === undefined) throw new Error(`job ${job.id} has no outcome`)
    const now = context.clock.now()
    job.trace += closingTrace(job, outcome, new Date(job.startedAt ?? now), now)
    job.failureReason = outcome.failureReason
    setJobStatus(context, job, outcome.status)
    advance(context, pipelineOf(context, job))
  })
}

export function setJobStatus(context: SandboxContext, job: Job, status: JobStatus): void {
  job.status = status
  if (status === 'running') job.startedAt = context.timestamp()
  if (isCompleted(status) && job.startedAt !== null) job.finishedAt = context.timestamp()
  if (status === 'canceled') job.finishedAt = context.timestamp()
  context.save()
  context.signals.emit('job', { job })
}

function setPipelineStatus(context: SandboxContext, pipeline: Pipeline, status: JobStatus): void {
  if (pipeline.status === status) return
  pipeline.status = status
  pipeline.updatedAt = context.timestamp()
  if (status === 'running') pipeline.startedAt ??= pipeline.updatedAt
  pipeline.finishedAt = isCompleted(status) ? pipeline.updatedAt : null
  context.save()
  context.signals.emit('pipeline', { pipeline })
}
