/**
 * Pipelines and jobs over REST: read, start, retry, play, cancel. Reading needs the reporter role, acting the right to
 * merge into or push to the pipeline's branch. What the actions do is in pipelines.ts and jobs.ts.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type ProjectAccess, REPORTER, requireProject } from '../auth.ts'
import type { SandboxContext } from '../context.ts'
import { badRequest, forbidden, frameworkError, methodNotAllowed, recordNotFound, refusal } from '../errors.ts'
import { branchHead } from '../git/repository.ts'
import { paginate } from '../pagination.ts'
import { flag, numberParam, rawParams, readParams, text } from '../params.ts'
import { presentPipelineBasic, presentPipelineDetail } from '../present/pipeline.ts'
import { mayMerge } from '../protection.ts'
import type { Job, MergeRequest, Pipeline } from '../state.ts'
import { advance, branchOf, cancelJob, jobsOf, kindOf, pipelineOf } from './jobs.ts'
import {
  cancelPipeline,
  createPipeline,
  isRetryable,
  type PipelineResult,
  pipelinesOf,
  playJob,
  retryJob,
  retryPipeline,
} from './pipelines.ts'
import { presentBridges, presentJobs } from './present.ts'

const STATUSES = [
  'created',
  'waiting_for_resource',
  'preparing',
  'pending',
  'running',
  'success',
  'failed',
  'canceling',
  'canceled',
  'skipped',
  'manual',
  'scheduled',
] as const

const pipelineFilter = z.object({
  status: z.enum(STATUSES).optional(),
  scope: z.enum(['running', 'pending', 'finished', 'branches', 'tags']).optional(),
  source: text.optional(),
  ref: text.optional(),
  sha: text.optional(),
  sort: z.enum(['asc', 'desc']).default('desc'),
  updated_after: text.optional(),
  updated_before: text.optional(),
})

interface PipelineAccess extends ProjectAccess {
  readonly pipeline: Pipeline
}

interface JobAccess extends PipelineAccess {
  readonly job: Job
}

export function registerCiRoutes(app: FastifyInstance, context: SandboxContext): void {
  registerPipelines(app, context)
  registerMergeRequestPipelines(app, context)
  registerJobs(app, context)
}

function registerPipelines(app: FastifyInstance, context: SandboxContext): void {
  const base = '/api/v4/projects/:id/pipelines'
  app.get(base, (request, reply) => {
    const { project } = requireProject(request, context, REPORTER)
    const filter = readParams(request, pipelineFilter)
    const rows = context.state.pipelines
      .filter((pipeline) => pipeline.projectId === project.id && matches(pipeline, filter))
      .sort((a, b) => (filter.sort === 'asc' ? a.id - b.id : b.id - a.id))
    return paginate(request, reply, context.externalUrl, rows).map((row) => presentPipelineBasic(context, row))
  })
  app.post('/api/v4/projects/:id/pipeline', async (request, reply) => {
    const { project, user } = requireProject(request, context, REPORTER)
    const { ref } = readParams(request, z.object({ ref: text }))
    const branch = ref.replace(/^refs\/heads\//, '')
    const sha = await branchHead(context.git(project), branch)
    if (sha === null) throw refusal(400, { base: ['Reference not found'] })
    if (!mayMerge(context, project, user, branch)) {
      const text = `You do not have sufficient permission to run a pipeline on '${branch}'. Please select a different branch or contact your administrator for assistance.`
      throw refusal(400, { base: [text] })
    }
    const pipeline = accepted(await createPipeline(context, { project, branch, sha, source: 'api', userId: user.id }))
    return reply.code(201).send(presentPipelineDetail(context, pipeline))
  })
  app.get(`${base}/:pipeline_id`, (request) => presentPipelineDetail(context, findPipeline(request).pipeline))
  app.post(`${base}/:pipeline_id/retry`, (request, reply) => {
    const { pipeline, user } = changePipeline(request)
    retryPipeline(context, pipeline, user.id)
    return reply.code(201).send(presentPipelineDetail(context, pipeline))
  })
  app.post(`${base}/:pipeline_id/cancel`, (request) => {
    const { pipeline } = changePipeline(request)
    cancelPipeline(context, pipeline)
    return presentPipelineDetail(context, pipeline)
  })
  app.get(`${base}/:pipeline_id/jobs`, (request, reply) => {
    const { project, pipeline } = findPipeline(request)
    const { include_retried } = readParams(request, z.object({ include_retried: flag.default(false) }))
    const inScope = readScope(request)
    const rows = jobsOf(context, pipeline).filter(
      (job) => kindOf(job) === 'build' && (include_retried || !job.retried) && inScope(job),
    )
    const shown = paginate(request, reply, context.externalUrl, rows.toReversed())
    return presentJobs(context, project, pipeline, shown)
  })
  app.get(`${base}/:pipeline_id/bridges`, (request, reply) => {
    const { project, pipeline } = findPipeline(request)
    const inScope = readScope(request)
    const rows = jobsOf(context, pipeline).filter((job) => kindOf(job) === 'bridge' && !job.retried && inScope(job))
    const shown = paginate(request, reply, context.externalUrl, rows.toReversed())
    return presentBridges(context, project, pipeline, shown)
  })

  function findPipeline(request: FastifyRequest): PipelineAccess {
    const access = requireProject(request, context, REPORTER)
    const id = numberParam(request, 'pipeline_id')
    const pipeline = context.state.pipelines.find((row) => row.id === id && row.projectId === access.project.id)
    if (pipeline === undefined) throw recordNotFound()
    return { ...access, pipeline }
  }
  function changePipeline(request: FastifyRequest): PipelineAccess {
    const access = findPipeline(request)
    assertMayChange(context, access)
    return access
  }
}

function registerMergeRequestPipelines(app: FastifyInstance, context: SandboxContext): void {
  const path = '/api/v4/projects/:id/merge_requests/:merge_request_iid/pipelines'
  app.get(path, (request, reply) => {
    const { mergeRequest } = findMergeRequest(request)
    const rows = paginate(request, reply, context.externalUrl, pipelinesOf(context, mergeRequest))
    return rows.map((row) => presentPipelineBasic(context, row))
  })
  app.post(path, async (request, reply) => {
    const { project, user, mergeRequest } = findMergeRequest(request)
    const { async: background } = readParams(request, z.object({ async: flag.default(false) }))
    const { sourceBranch: branch, sha } = mergeRequest
    if (!mayMerge(context, project, user, branch)) throw forbidden()
    const wanted = { project, branch, sha, source: 'merge_request_event', userId: user.id, mergeRequest } as const
    const result = await createPipeline(context, wanted)
    if (background) return reply.code(202).send({ message: '202 Accepted' })
    if ('refused' in result) throw methodNotAllowed()
    return presentPipelineDetail(context, result.pipeline)
  })

  function findMergeRequest(request: FastifyRequest): ProjectAccess & { readonly mergeRequest: MergeRequest } {
    const access = requireProject(request, context, REPORTER)
    const iid = numberParam(request, 'merge_request_iid')
    const mergeRequest = context.findMergeRequest(access.project.id, iid)
    if (mergeRequest === null) throw recordNotFound()
    return { ...access, mergeRequest }
  }
}

function registerJobs(app: FastifyInstance, context: SandboxContext): void {
  const base = '/api/v4/projects/:id/jobs'
  app.get(base, async (request, reply) => {
    const { project } = requireProject(request, context, REPORTER)
    const inScope = readScope(request)
    const rows = context.state.jobs.filter(
      (job) => job.projectId === project.id && kindOf(job) === 'build' && !job.retried && inScope(job),
    )
    const shown = paginate(request, reply, context.externalUrl, rows.toReversed())
    const presented = await Promise.all(
      shown.map((job) => presentJobs(context, project, pipelineOf(context, job), [job])),
    )
    return presented.flat()
  })
  app.get(`${base}/:job_id`, (request) => answer(findBuild(request)))
  app.get(`${base}/:job_id/trace`, (request, reply) => {
    const { job } = findBuild(request)
    return reply.type('text/plain; charset=utf-8').send(job.trace)
  })
  app.post(`${base}/:job_id/retry`, async (request, reply) => {
    const access = changeJob(request)
    if (!isRetryable(access.job)) throw forbidden('Job is not retryable')
    const job = retryJob(context, access.job, access.user.id)
    return reply.code(201).send(await answer({ ...access, job }))
  })
  app.post(`${base}/:job_id/play`, (request) => {
    const access = changeJob(request)
    if (access.job.status !== 'manual') throw badRequest('Unplayable Job')
    playJob(context, access.job)
    return answer(access)
  })
  app.post(`${base}/:job_id/cancel`, async (request, reply) => {
    const access = changeJob(request)
    if (cancelJob(context, access.job)) advance(context, access.pipeline)
    return reply.code(201).send(await answer(access))
  })

  function findBuild(request: FastifyRequest): JobAccess {
    const access = findJob(request)
    if (kindOf(access.job) !== 'build') throw recordNotFound()
    return access
  }
  function findJob(request: FastifyRequest): JobAccess {
    const access = requireProject(request, context, REPORTER)
    const id = numberParam(request, 'job_id')
    const job = context.state.jobs.find((row) => row.id === id && row.projectId === access.project.id)
    if (job === undefined) throw recordNotFound()
    return { ...access, job, pipeline: pipelineOf(context, job) }
  }
  function changeJob(request: FastifyRequest): JobAccess {
    const access = findJob(request)
    assertMayChange(context, access)
    return access
  }
  async function answer({ project, pipeline, job }: JobAccess): Promise<object> {
    const [presented] = await presentJobs(context, project, pipeline, [job])
    return presented ?? {}
  }
}

function assertMayChange(context: SandboxContext, { project, user, pipeline }: PipelineAccess): void {
  if (!mayMerge(context, project, user, branchOf(context, pipeline))) throw forbidden()
}

/** Somebody who asked for a pipeline gets it, or GitLab's sentence why not. */
function accepted(result: PipelineResult): Pipeline {
  if ('refused' in result) throw refusal(400, { base: [result.refused] })
  return result.pipeline
}

/** `scope` as one status or a list of them. */
function readScope(request: FastifyRequest): (job: Job) => boolean {
  const given = rawParams(request)['scope']
  if (given === undefined) return () => true
  const wanted = z.array(z.enum(STATUSES)).safeParse(Array.isArray(given) ? given : [given])
  if (!wanted.success) throw frameworkError('scope does not have a valid value')
  return (job) => wanted.data.includes(job.status)
}

const SCOPES: Record<'running' | 'pending' | 'finished', readonly string[]> = {
  running: ['running'],
  pending: ['pending'],
  finished: ['success', 'failed', 'canceled'],
}

function matches(pipeline: Pipeline, filter: z.infer<typeof pipelineFilter>): boolean {
  const { status, scope, source, ref, sha, updated_after, updated_before } = filter
  if (scope === 'tags') return false
  // Child pipelines are shown to those who ask for them.
  if (pipeline.source === 'parent_pipeline' && source !== 'parent_pipeline') return false
  if (scope === 'branches' && pipeline.mergeRequestIid !== null) return false
  if (scope !== undefined && scope !== 'branches' && !SCOPES[scope].includes(pipeline.status)) return false
  return (
    (status === undefined || pipeline.status === status) &&
    (source === undefined || pipeline.source === source) &&
    (ref === undefined || pipeline.ref === ref) &&
    (sha === undefined || pipeline.sha === sha) &&
    (updated_after === undefined || Date.parse(pipeline.updatedAt) > Date.parse(updated_after)) &&
    (updated_before === undefined || Date.parse(pipeline.updatedAt) < Date.parse(updated_before))
  )
}
