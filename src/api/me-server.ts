/**
 * GET /me: the bridge from a login in the browser to a bearer token. A proxy logs people in and forwards their token; this
 * hands it to the page, which then calls the API with it. It listens for itself, on loopback only, where nothing but the
 * proxy reaches it: the headers it reads are the proxy's word, and anybody else's word would count as much. The API
 * itself never looks at them. Decision 0027.
 */
import { randomUUID } from 'node:crypto'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Audit } from '../audit/entry.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import { callerName } from '../auth/caller-name.ts'
import type { Identity } from '../auth/identity.ts'
import { isOpenShiftToken } from '../auth/openshift.ts'
import { IdentityProviderUnavailable } from '../auth/unavailable.ts'
import { WorkQueueError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { answerClientError, sendProblem } from './errors.ts'

export interface MeDependencies {
  readonly authenticator: Authenticator
  readonly audit: Audit
  readonly log: Log
}

const TOKEN = 'x-forwarded-access-token'
const EMAIL = 'x-forwarded-email'
/** What the proxy makes of a user of the cluster, which knows no addresses. */
const CLUSTER_DOMAIN = '@cluster.local'
const REQUEST_TIMEOUT_MS = 10_000

/** Nobody but the page that asked may see, keep or pass on the answer. */
const HEADERS = {
  'cache-control': 'no-store',
  vary: 'Cookie',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

/** Ready for `inject` and `listen`. */
export function createMeServer({ authenticator, audit, log }: MeDependencies): FastifyInstance {
  const app: FastifyInstance = fastify({
    logger: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { headersTimeout: REQUEST_TIMEOUT_MS, connectionsCheckingInterval: 1_000 },
    requestIdHeader: false,
    genReqId: () => randomUUID(),
    routerOptions: { ignoreTrailingSlash: false },
    exposeHeadRoutes: false,
    clientErrorHandler: answerClientError,
    forceCloseConnections: true,
  })
  app.addHook('onRequest', async (_request, reply) => void reply.headers(HEADERS))
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply, log))
  app.setNotFoundHandler((request, reply) => sendProblem(NOTHING_ELSE, request, reply, log))

  function record(request: FastifyRequest, caller: string | null, refusal: string | null, reason: string | null): void {
    audit.record({
      event_type: 'auth',
      action: 'me',
      outcome: refusal === null ? 'allowed' : 'denied',
      request_id: request.id,
      ...(caller === null ? {} : { caller }),
      ...(refusal === null ? {} : { error_code: refusal }),
      facts: reason === null ? {} : { reason },
    })
  }

  function refuse(request: FastifyRequest, caller: string | null, error: WorkQueueError, reason: string): never {
    record(request, caller, error.code, reason)
    throw error
  }

  async function me(request: FastifyRequest, reply: FastifyReply): Promise<object> {
    const site = request.headers['sec-fetch-site']
    if (site !== undefined && site !== 'same-origin' && site !== 'none') {
      refuse(request, null, FOREIGN_PAGE, 'asked by another site')
    }
    const tokens = headersOf(request, TOKEN)
    const [token] = tokens
    if (tokens.length > 1) refuse(request, null, NOT_LOGGED_IN, 'duplicated_header')
    if (token === undefined || !isOpenShiftToken(token)) refuse(request, null, NOT_LOGGED_IN, 'no_token_of_openshift')
    const identity = await identify(request, token)
    if (identity === null) refuse(request, null, NOT_LOGGED_IN, 'unknown_token')
    const emails = headersOf(request, EMAIL)
    if (emails.length > 1 || emails.some((email) => !belongsTo(email, identity))) {
      refuse(request, identity.name, MIXED_UP, 'another user than the token is of')
    }
    record(request, identity.name, null, null)
    reply.type('application/json')
    return { access_token: token, caller: identity.name }
  }

  /** null: the token is good for nobody. @throws IdentityProviderUnavailable. */
  async function identify(request: FastifyRequest, token: string): Promise<Identity | null> {
    try {
      return (await authenticator.authenticate([`Bearer ${token}`])).identity
    } catch (error) {
      if (error instanceof IdentityProviderUnavailable)
        record(request, null, error.code, String(error.facts['provider']))
      throw error
    }
  }

  app.get('/me', me)
  return app
}

/** The user's name, by itself or as the proxy completes it; never the part before the @ alone, which two may share. */
function belongsTo(email: string, { name }: Identity): boolean {
  const user = email.endsWith(CLUSTER_DOMAIN) ? email.slice(0, -CLUSTER_DOMAIN.length) : email
  return [email, user].some((text) => callerName('openshift', text) === name)
}

/** All of them, from the raw headers: Node's parsed ones may hold only one, or join them. */
function headersOf({ raw: { rawHeaders } }: FastifyRequest, wanted: string): readonly string[] {
  return rawHeaders.filter((_value, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === wanted)
}

const NOT_LOGGED_IN = new WorkQueueError('unauthenticated', 'There is no login here; log in through the proxy.')
const FOREIGN_PAGE = new WorkQueueError('permission_denied', 'This is for pages of the service itself.')
const MIXED_UP = new WorkQueueError(
  'permission_denied',
  'The login and the token are of different users; log in again.',
)
const NOTHING_ELSE = new WorkQueueError('not_found', 'There is nothing here but GET /me.')
