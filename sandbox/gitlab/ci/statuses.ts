/**
 * Commit statuses that somebody outside reports. They join the newest pipeline of their commit and branch; where there is
 * none they make one, whose source is `external`.
 */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { DEVELOPER, type ProjectAccess, REPORTER, requireProject } from '../auth.ts'
import type { SandboxContext } from '../context.ts'
import { notFound, refusal } from '../errors.ts'
import { listBranches, resolveCommit } from '../git/repository.ts'
import { paginate } from '../pagination.ts'
import { flag, integer, pathParam, readParams, text } from '../params.ts'
import { presentUserId } from '../present/user.ts'
import type { Job, JobStatus, Pipeline } from '../state.ts'
import { advance, jobsOf, kindOf, latestJobsOf, pipelineOf, setJobStatus } from './jobs.ts'
import { addJob, addPipeline } from './pipelines.ts'
import { isAlive } from './status.ts'

const STAGE = 'external'

const report = z.object({
  state: z.enum(['pending', 'running', 'success', 'failed', 'canceled', 'skipped']),
  ref: text.optional(),
  name: text.optional(),
  context: text.optional(),
  target_url: text.nullish(),
  description: text.nullish(),
  pipeline_id: integer.optional(),
})

export function registerStatusRoutes(app: FastifyInstance, context: SandboxContext): void {
  app.post('/api/v4/projects/:id/statuses/:sha', async (request, reply) => {
    const access = requireProject(request, context, DEVELOPER)
    const given = readParams(request, report)
    const sha = await resolveCommit(context.git(access.project), pathParam(request, 'sha'))
    if (sha === null) throw notFound('Commit')
    const pipeline = await pipelineFor(context, access, sha, given)
    const job = jobFor(context, pipeline, access.user.id, given.name ?? given.context ?? 'default')
    setState(context, job, given.state)
    job.description = given.description ?? job.description ?? null
    job.targetUrl = given.target_url ?? job.targetUrl ?? null
    advance(context, pipeline)
    return reply.code(201).send(presentStatus(context, job))
  })
  app.get('/api/v4/projects/:id/repository/commits/:sha/statuses', async (request, reply) => {
    const { project } = requireProject(request, context, REPORTER)
    const { all } = readParams(request, z.object({ all: flag.default(false) }))
    const sha = await resolveCommit(context.git(project), pathParam(request, 'sha'))
    if (sha === null) throw notFound('Commit')
    const jobs = context.state.pipelines
      .filter((pipeline) => pipeline.projectId === project.id && pipeline.sha === sha)
      .flatMap((pipeline) => (all ? jobsOf(context, pipeline) : latestJobsOf(context, pipeline)))
    return paginate(request, reply, context.externalUrl, jobs).map((job) => presentStatus(context, job))
  })
}

async function pipelineFor(
  context: SandboxContext,
  { project, user }: ProjectAccess,
  sha: string,
  given: z.infer<typeof report>,
): Promise<Pipeline> {
  const own = context.state.pipelines.filter((row) => row.projectId === project.id && row.sha === sha)
  if (given.pipeline_id !== undefined) {
    const named = own.find((row) => row.id === given.pipeline_id)
    if (named === undefined) throw notFound('Pipeline')
    return named
  }
  const branches = await listBranches(context.git(project))
  const branch = given.ref?.replace(/^refs\/heads\//, '') ?? branches.find((candidate) => candidate.sha === sha)?.name
  if (branch === undefined) throw notFound('References for commit')
  const newest = own.findLast((row) => row.ref === branch && row.source !== 'parent_pipeline')
  if (newest !== undefined) return newest
  return addPipeline(context, { project, sha, branch, source: 'external', userId: user.id }, [])
}

/** The status of this name that is still open, or a new one, which takes the place of an older one. */
function jobFor(context: SandboxContext, pipeline: Pipeline, userId: number, name: string): Job {
  const older = latestJobsOf(context, pipeline).find((job) => kindOf(job) === 'external' && job.name === name)
  if (older !== undefined && isAlive(older.status)) return older
  if (older !== undefined) older.retried = true
  if (!pipeline.stages.includes(STAGE)) pipeline.stages = [...pipeline.stages, STAGE]
  return addJob(context, {
    kind: 'external',
    projectId: pipeline.projectId,
    pipelineId: pipeline.id,
    userId,
    name,
    stage: STAGE,
    allowFailure: false,
    attempt: (older?.attempt ?? 0) + 1,
    script: { when: 'on_success', seconds: 0, interruptible: false, log: '', outcomes: [] },
  })
}

const EVENTS = {
  pending: 'enqueue',
  running: 'run',
  success: 'success',
  failed: 'drop',
  canceled: 'cancel',
  skipped: 'skip',
}

function setState(context: SandboxContext, job: Job, state: z.infer<typeof report>['state']): void {
  const goesBack = job.status === 'running' && state === 'pending'
  if (job.status === state || goesBack) {
    throw refusal(400, `Cannot transition status via :${EVENTS[state]} from :${job.status}`)
  }
  if (state !== 'pending' && state !== 'skipped') job.startedAt ??= context.timestamp()
  setJobStatus(context, job, state satisfies JobStatus)
}

function presentStatus(context: SandboxContext, job: Job) {
  const { sha, ref } = pipelineOf(context, job)
  return {
    id: job.id,
    sha,
    ref,
    status: job.status,
    name: job.name,
    target_url: job.targetUrl ?? null,
    description: job.description ?? null,
    created_at: job.createdAt,
    started_at: job.startedAt,
    finished_at: job.finishedAt,
    allow_failure: job.allowFailure,
    coverage: null,
    pipeline_id: job.pipelineId,
    author: presentUserId(context, job.userId),
  }
}
