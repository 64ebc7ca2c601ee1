/**
 * GET /api/v1/herder/…: what the herders of the item types know about failed CI jobs, for whoever tunes matchers. A job is
 * looked at with the service's rights in GitLab, so all of it takes the permission `admin`; no text of a log is shown.
 */
import type { FastifyRequest } from 'fastify'
import {
  herderCoverageQuerySchema,
  herderCoverageSchema,
  herderStatsQuerySchema,
  herderStatsSchema,
  herderTestQuerySchema,
  herderTestSchema,
} from '../../contract/herder.ts'
import { WorkQueueError } from '../../lib/errors.ts'
import type { Herder } from '../../queue/herder.ts'
import { type Api, answer, problemResponses, type RouteDependencies } from './route.ts'

const TEST_TIMEOUT_MS = 25_000
const DAY_MS = 86_400_000

export function registerHerder(app: Api, { queue, access }: RouteDependencies): void {
  const common = { method: 'GET', onRequest: access.authenticate('admin') } as const

  /** Of the types that the caller administers. */
  function herdersFor(request: FastifyRequest): readonly (readonly [itemType: string, herder: Herder])[] {
    const mayAdminister = access.typesFor(request, 'admin')
    return [...queue.itemTypes.values()].flatMap(({ name, herder }) =>
      herder === undefined || !mayAdminister(name) ? [] : [[name, herder] as const],
    )
  }

  app.route({
    ...common,
    url: '/herder/stats',
    schema: {
      operationId: 'herderStats',
      tags: ['operation'],
      summary: 'What came of the retries of failed jobs?',
      description: 'By matcher, and by job: those that need a retry again and again are to be mended.',
      querystring: herderStatsQuerySchema,
      response: { 200: answer(herderStatsSchema, 'Over the whole time that was asked for.'), ...problemResponses() },
    },
    async handler(request) {
      const since = new Date(Date.now() - request.query.days * DAY_MS)
      const found = await Promise.all(
        herdersFor(request).map(async ([item_type, herder]) => ({ item_type, ...(await herder.statistics(since)) })),
      )
      return {
        since: since.toISOString(),
        matchers: found.flatMap(({ item_type, matchers }) => matchers.map((one) => ({ item_type, ...one }))),
        jobs: found.flatMap(({ item_type, jobs }) => jobs.map((one) => ({ item_type, ...one }))),
      }
    },
  })

  app.route({
    ...common,
    url: '/herder/coverage',
    schema: {
      operationId: 'herderCoverage',
      tags: ['operation'],
      summary: 'Which failures did no matcher know?',
      description: 'Most frequent first, with the address of the newest job: what the next matcher should be for.',
      querystring: herderCoverageQuerySchema,
      response: { 200: answer(herderCoverageSchema, 'Kinds of failures.'), ...problemResponses() },
    },
    async handler(request) {
      const { days, limit } = request.query
      const since = new Date(Date.now() - days * DAY_MS)
      const found = await Promise.all(
        herdersFor(request).map(async ([item_type, herder]) => ({
          item_type,
          ...(await herder.coverage(since, limit)),
        })),
      )
      return {
        since: since.toISOString(),
        failures: found.reduce((sum, { failures }) => sum + failures, 0),
        known: found.reduce((sum, { known }) => sum + known, 0),
        unknown: found.flatMap(({ item_type, unknown }) => unknown.map((one) => ({ item_type, ...one }))),
      }
    },
  })

  app.route({
    ...common,
    url: '/herder/test',
    schema: {
      operationId: 'herderTest',
      tags: ['operation'],
      summary: 'What would each matcher do about a job?',
      description:
        'Looks at the job in GitLab and shows it to the matchers, condition by condition. Nothing is run again.',
      querystring: herderTestQuerySchema,
      response: {
        200: answer(herderTestSchema, 'What would be done, and why.'),
        ...problemResponses('job_not_found', 'unavailable'),
      },
    },
    async handler(request) {
      const signal = AbortSignal.timeout(TEST_TIMEOUT_MS)
      for (const [, herder] of herdersFor(request)) {
        const tested = await herder.test(request.query.job_url, signal).catch((error: unknown) => {
          if (error instanceof WorkQueueError && error.code === 'job_not_found') return error
          throw error
        })
        if (!(tested instanceof WorkQueueError)) return herderTestSchema.parse(tested)
      }
      throw new WorkQueueError(
        'job_not_found',
        'It is the address of no job that the service may look at: one of a configured project, as in https://gitlab.example.com/group/project/-/jobs/123.',
      )
    },
  })
}
