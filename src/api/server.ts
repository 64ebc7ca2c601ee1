/**
 * The REST API, put together: the edge of HTTP with its limits, one error shape, the routes, and the documentation. It
 * listens nowhere by itself; whoever composes the program says where.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import fastifyHelmet from '@fastify/helmet'
import fastify from 'fastify'
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Audit } from '../audit/entry.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import { WorkQueueError } from '../lib/errors.ts'
import type { EventCounts } from '../lib/event-counts.ts'
import type { Log } from '../lib/log.ts'
import type { PauseAdmin } from '../queue/pause-admin.ts'
import type { QueueAdmin } from '../queue/queue-admin.ts'
import type { WorkQueue } from '../queue/work-queue.ts'
import { createAccess } from './access.ts'
import { answerClientError, sendProblem } from './errors.ts'
import { describeApi } from './open-api.ts'
import { shortened } from './problem.ts'
import { createRateLimits, NO_RATE_LIMITS, type RateLimitSettings } from './rate-limits.ts'
import { registerCancelWorkItem } from './routes/cancel-work-item.ts'
import { registerDocumentation } from './routes/documentation.ts'
import { registerGetWorkItem } from './routes/get-work-item.ts'
import { registerGitLabWebhook, type WebhookLimits } from './routes/gitlab-webhook.ts'
import { registerHealth } from './routes/health.ts'
import { registerHerder } from './routes/herder.ts'
import { registerInspectSubmission } from './routes/inspect-submission.ts'
import { registerListDeadEvents } from './routes/list-dead-events.ts'
import { registerListWorkItems } from './routes/list-work-items.ts'
import { type MetricsSource, registerMetrics } from './routes/metrics.ts'
import { registerPauses } from './routes/pauses.ts'
import { registerQueueStatus } from './routes/queue-status.ts'
import { registerRetryWorkItem } from './routes/retry-work-item.ts'
import { registerReviveEvents } from './routes/revive-events.ts'
import type { Api } from './routes/route.ts'
import { registerSubmitWorkItem } from './routes/submit-work-item.ts'
import { registerWhoAmI } from './routes/whoami.ts'
import { acceptJsonBodies, validatorCompiler } from './validation.ts'

export interface ApiDependencies {
  readonly queue: WorkQueue
  readonly admin: QueueAdmin
  readonly pauses: PauseAdmin
  readonly authenticator: Authenticator
  readonly audit: Audit
  readonly log: Log
  /** null = the service takes no webhooks. */
  readonly webhook: { readonly secret: string } | null
  readonly webhookLimits?: WebhookLimits
  /** What becomes of events. */
  readonly counts: EventCounts
  /** By dependency: `ok`, or one short sentence about what is wrong that everybody may read: no address in it. */
  readonly ready: () => Promise<Readonly<Record<string, 'ok' | string>>>
  readonly version: string
  /** null = they are not shown. */
  readonly metrics: MetricsSource | null
  /** The process's clock, for the age of webhook signatures. */
  readonly now?: () => Date
  /** Absent: none. */
  readonly rateLimits?: RateLimitSettings
  /** Addresses and networks of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies?: readonly string[]
  /** How long a closing server waits for requests under way. */
  readonly closeGraceMs?: number
}

const REQUEST_TIMEOUT_MS = 30_000
const HEADERS_TIMEOUT_MS = 10_000
/** How often Node looks for requests that are too slow; its own 30 s would make the limits above mean little. */
const CONNECTIONS_CHECK_MS = 1_000
const CLOSE_GRACE_MS = 10_000
/** How often a closing server looks for connections that have become idle. */
const IDLE_CHECK_MS = 50
/** Asked every few seconds, by machines. */
const QUIET_ROUTES = ['/healthz', '/metrics']
/** Everything that is small; the routes that take more say so. */
const BODY_LIMIT_BYTES = 64 * 1024

/** Ready for `inject` and `listen`. `close()` waits for requests that are being served. */
export async function createApi(dependencies: ApiDependencies): Promise<Api> {
  const { queue, admin, pauses, authenticator, audit, log, webhook, ready, version } = dependencies
  const { now = () => new Date(), trustedProxies = [], closeGraceMs = CLOSE_GRACE_MS } = dependencies
  const { webhookLimits, counts, metrics } = dependencies
  const app: Api = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { connectionsCheckingInterval: CONNECTIONS_CHECK_MS, headersTimeout: HEADERS_TIMEOUT_MS },
    requestIdHeader: false,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    genReqId: requestIdOf,
    // While the server closes, requests on open connections are still served: a 503 would not be one of our problems.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => void sendProblem(error, request, reply, log),
    clientErrorHandler: answerClientError,
  }).withTypeProvider<ZodTypeProvider>()

  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  acceptJsonBodies(app)
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply, log))
  const methodsOf = collectRoutes(app)
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const methods = methodsOf(path)
    if (methods.length > 0) reply.header('allow', methods.join(', '))
    return sendProblem(notFound(request.method, path, methods), request, reply, log)
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    if (request.url.startsWith('/api/')) reply.header('cache-control', 'no-store')
  })
  app.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions, id } = request
    const facts = { request_id: id, method, route: routeOptions.url, status: reply.statusCode }
    log[QUIET_ROUTES.includes(routeOptions.url ?? '') ? 'debug' : 'info'](
      { ...facts, ms: Math.round(reply.elapsedTime) },
      'request',
    )
  })

  await app.register(fastifyHelmet, {
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  })
  await describeApi(app, version)
  const rateLimits = await createRateLimits(app, dependencies.rateLimits ?? NO_RATE_LIMITS)
  const access = createAccess({ authenticator, audit, rateLimits, scopeOf: (item) => queue.scopeOf(item) })
  const routes = { queue, admin, pauses, access }
  const limits = webhookLimits === undefined ? {} : { limits: webhookLimits }
  await app.register(
    async (scope: Api) => registerGitLabWebhook(scope, { queue, audit, webhook, now, counts, ...limits }),
    { prefix: '/api/v1' },
  )
  await app.register(
    async (scope: Api) => {
      registerSubmitWorkItem(scope, routes)
      registerInspectSubmission(scope, routes)
      registerListWorkItems(scope, routes)
      registerGetWorkItem(scope, routes)
      registerRetryWorkItem(scope, routes)
      registerCancelWorkItem(scope, routes)
      registerQueueStatus(scope, routes)
      registerListDeadEvents(scope, routes)
      registerReviveEvents(scope, routes)
      registerPauses(scope, routes)
      registerWhoAmI(scope, routes)
      registerHerder(scope, routes)
    },
    { prefix: '/api/v1' },
  )
  registerHealth(app, { ready, version, log })
  if (metrics !== null) registerMetrics(app, metrics)
  registerDocumentation(app)
  closePromptly(app, closeGraceMs)
  await app.ready()
  return app
}

/**
 * Closing waits for the requests that are being served, and then for nobody: a connection whose last answer went out after
 * the close had begun would otherwise be kept open for its keep-alive time, over a minute. One that never finishes its
 * request is no idle one, and a closing server no longer enforces its time limits: after the grace it is cut off, or
 * anybody who can connect could keep the service from stopping.
 */
function closePromptly(app: Api, graceMs: number): void {
  let idleTimer: NodeJS.Timeout | undefined
  let graceTimer: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => {
    idleTimer = setInterval(() => app.server.closeIdleConnections(), IDLE_CHECK_MS)
    graceTimer = setTimeout(() => app.server.closeAllConnections(), graceMs)
  })
  app.addHook('onClose', async () => {
    clearInterval(idleTimer)
    clearTimeout(graceTimer)
  })
}

/** The caller's own id where it is harmless to log, so that its trail and ours can be joined. */
function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID()
}

/** Answers which methods exist for a path; call it before the routes are registered. */
function collectRoutes(app: Api): (path: string) => readonly string[] {
  const routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = new RegExp(`^${url.replace(/:[a-z]+/g, '[^/]+').replaceAll('.', '\\.')}$`)
    routes.push({ pattern, methods: [method].flat() })
  })
  return (path) => [...new Set(routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods))]
}

function notFound(method: string, path: string, methods: readonly string[]): WorkQueueError {
  const asked = `${method} ${shortened(path)}`
  if (methods.length === 0) {
    return new WorkQueueError('not_found', `There is nothing at ${asked}. All operations are described at /docs.`)
  }
  return new WorkQueueError('method_not_allowed', `${asked} is not possible; the address takes ${methods.join(', ')}.`)
}
