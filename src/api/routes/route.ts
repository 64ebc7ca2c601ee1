/**
 * What every route file needs: the type of the API it registers on, the parts it works with, and the way it tells the
 * documentation which problems it may answer with.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { ZodType } from 'zod'
import { PROBLEM_MEDIA_TYPE, problemSchema } from '../../contract/problem.ts'
import type { PauseAdmin } from '../../queue/pause-admin.ts'
import type { QueueAdmin } from '../../queue/queue-admin.ts'
import type { WorkQueue } from '../../queue/work-queue.ts'
import type { Access } from '../access.ts'
import { PROBLEMS, type ProblemCode } from '../problem.ts'

export type Api = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>

export interface RouteDependencies {
  readonly queue: WorkQueue
  readonly access: Access
}

export interface AdminRouteDependencies extends RouteDependencies {
  readonly admin: QueueAdmin
  readonly pauses: PauseAdmin
}

/** For `schema.response`: one kind of answer that is no problem. */
export function answer<S extends ZodType>(schema: S, description: string): Answer<S> {
  return { description, content: { 'application/json': { schema } } }
}

interface Answer<S extends ZodType> {
  readonly description: string
  readonly content: { readonly 'application/json': { readonly schema: S } }
}

/** Any operation under /api that needs a token may answer with these. */
const ALWAYS = [
  ...(['invalid_request', 'unauthenticated', 'permission_denied'] as const),
  ...(['too_many_requests', 'identity_provider_unavailable', 'database_unavailable'] as const),
]

/** For `schema.response`: what an operation behind a token may be refused with, besides what all of them may. */
export function problemResponses(...codes: ProblemCode[]): Record<number, ProblemResponse> {
  return onlyProblems(...ALWAYS, ...codes)
}

/** The same for operations without a token. */
export function onlyProblems(...codes: ProblemCode[]): Record<number, ProblemResponse> {
  const responses: Record<number, ProblemResponse> = {}
  for (const code of codes) {
    const { status, title } = PROBLEMS[code]
    const before = responses[status]
    responses[status] = {
      description: `${before ? `${before.description}, ` : ''}\`${code}\`: ${title}`,
      content: { [PROBLEM_MEDIA_TYPE]: { schema: problemSchema } },
    }
  }
  return responses
}

interface ProblemResponse {
  readonly description: string
  readonly content: { readonly [PROBLEM_MEDIA_TYPE]: { readonly schema: typeof problemSchema } }
}
