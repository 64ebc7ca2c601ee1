/**
 * Bridges: jobs that run nothing and start a pipeline, a child in the same project or one of another project. A bridge that
 * depends on its pipeline ends as that one does, also when it is retried later; any other is green once it has started it.
 */
import type { SandboxContext } from '../context.ts'
import { branchHead, ZERO_SHA } from '../git/repository.ts'
import type { Job, JobStatus, Pipeline, PipelineStatus, Project, SandboxSignals, Trigger } from '../state.ts'
import { advance, kindOf, pipelineOf, setJobStatus } from './jobs.ts'
import { addJob, keepPipeline } from './pipelines.ts'
import { isCompleted } from './status.ts'

const START_MS = 100
const STAGE = 'test'
/** A job that is to go on running does so for a day. */
const FOREVER_SECONDS = 86_400

/** Answers how to end it. */
export function startBridges(context: SandboxContext): () => void {
  const onJob = ({ job }: SandboxSignals['job'][0]) => {
    if (kindOf(job) === 'bridge' && job.status === 'pending') startLater(context, job)
  }
  const onPipeline = ({ pipeline }: SandboxSignals['pipeline'][0]) => followDownstream(context, pipeline)
  context.signals.on('job', onJob)
  context.signals.on('pipeline', onPipeline)
  for (const job of context.state.jobs) onJob({ job })
  return () => {
    context.signals.off('job', onJob)
    context.signals.off('pipeline', onPipeline)
  }
}

/** The pipeline that a bridge has started. */
export function downstreamOf(context: SandboxContext, bridge: Job): Pipeline | null {
  return context.state.pipelines.find((pipeline) => pipeline.bridgeId === bridge.id) ?? null
}

function startLater(context: SandboxContext, bridge: Job): void {
  context.later(START_MS, `start of bridge ${bridge.id}`, async () => {
    const { trigger } = bridge.script
    if (trigger === undefined) return
    const target = await targetOf(context, bridge, trigger)
    if (bridge.status !== 'pending') return
    if ('refused' in target) {
      bridge.failureReason = target.refused
      setJobStatus(context, bridge, 'failed')
    } else {
      setJobStatus(context, bridge, 'running')
      startDownstream(context, bridge, trigger, target)
      if (trigger.strategy !== 'depend') setJobStatus(context, bridge, 'success')
    }
    advance(context, pipelineOf(context, bridge))
  })
}

type Target = { readonly project: Project } & Pick<
  Pipeline,
  'sha' | 'ref' | 'source' | 'mergeRequestIid' | 'beforeSha' | 'sourceSha'
>

async function targetOf(
  context: SandboxContext,
  bridge: Job,
  trigger: Trigger,
): Promise<Target | { readonly refused: string }> {
  if (trigger.project === null) {
    const { sha, ref, mergeRequestIid, beforeSha, sourceSha } = pipelineOf(context, bridge)
    const project = context.findProject(bridge.projectId)
    if (project === null) return { refused: 'downstream_pipeline_creation_failed' }
    const same = { project, sha, ref, mergeRequestIid, beforeSha, ...(sourceSha === undefined ? {} : { sourceSha }) }
    return { ...same, source: 'parent_pipeline' }
  }
  const project = context.findProject(trigger.project)
  const user = context.findUser(bridge.userId)
  if (project === null || user === null || context.accessLevel(project, user) === 0) {
    return { refused: 'downstream_bridge_project_not_found' }
  }
  const ref = project.defaultBranch
  const sha = await branchHead(context.git(project), ref)
  if (sha === null) return { refused: 'downstream_pipeline_creation_failed' }
  return { project, sha, ref, source: 'pipeline', mergeRequestIid: null, beforeSha: ZERO_SHA }
}

function startDownstream(context: SandboxContext, bridge: Job, trigger: Trigger, { project, ...target }: Target): void {
  const { userId } = bridge
  const pipeline = keepPipeline(context, project, { ...target, userId, stages: [STAGE], bridgeId: bridge.id })
  addJob(context, {
    kind: 'build',
    projectId: project.id,
    pipelineId: pipeline.id,
    userId,
    name: 'downstream',
    stage: STAGE,
    allowFailure: false,
    attempt: 1,
    script: scriptOf(trigger),
  })
  advance(context, pipeline)
}

function scriptOf({ ends, seconds, outcomes }: Trigger): Job['script'] {
  const fails = ends === 'failed'
  return {
    when: 'on_success',
    seconds: ends === 'running' ? FOREVER_SECONDS : seconds,
    interruptible: true,
    log: '',
    outcomes: outcomes ?? [
      { status: fails ? 'failed' : 'success', failureReason: fails ? 'script_failure' : null, log: null },
    ],
  }
}

function followDownstream(context: SandboxContext, pipeline: Pipeline): void {
  const bridge = context.state.jobs.find((job) => job.id === pipeline.bridgeId)
  if (bridge === undefined || bridge.retried || bridge.script.trigger?.strategy !== 'depend') return
  const status = mirrored(pipeline.status)
  if (bridge.status === status || bridge.status === 'pending') return
  setJobStatus(context, bridge, status)
  advance(context, pipelineOf(context, bridge))
}

function mirrored(status: PipelineStatus): JobStatus {
  return isCompleted(status) ? status : 'running'
}
