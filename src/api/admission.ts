/**
 * Lets a caller in: finds out who is asking, within the limits on how often. Every refusal is audited with its reason; the
 * caller hears the same for every bad token.
 */
import type { FastifyRequest } from 'fastify'
import type { Authenticator } from '../auth/authenticator.ts'
import type { Identity, Permission } from '../auth/identity.ts'
import { IdentityProviderUnavailable } from '../auth/unavailable.ts'
import { WorkQueueError } from '../lib/errors.ts'
import { type Decisions, rulesOf } from './decisions.ts'

/** How often whom is listened to. */
export interface RateLimits {
  /** Before the token is looked at. @throws WorkQueueError `too_many_requests`. */
  checkAddress(request: FastifyRequest): Promise<void>
  countRefusal(request: FastifyRequest): Promise<void>
  /** @throws WorkQueueError `too_many_requests`. */
  countCaller(request: FastifyRequest, caller: string): Promise<void>
}

export interface AdmissionDependencies {
  readonly authenticator: Authenticator
  readonly decisions: Decisions
  readonly rateLimits: RateLimits
}

/** `permission`: what for; null: for what takes none. @throws WorkQueueError `unauthenticated`, `too_many_requests`, … */
export type Admit = (request: FastifyRequest, permission: Permission | null) => Promise<Identity>

export function createAdmission({ authenticator, decisions, rateLimits }: AdmissionDependencies): Admit {
  async function authenticate(request: FastifyRequest, permission: Permission | null): Promise<Identity> {
    try {
      const result = await authenticator.authenticate(authorizationHeaders(request))
      if (result.identity !== null) return result.identity
      const { rules, reason } = result
      const error = refusalOf(reason)
      await rateLimits.countRefusal(request)
      decisions.record(request.id, permission, { rules, refusal: error.code, reason })
      throw error
    } catch (error) {
      if (error instanceof IdentityProviderUnavailable) {
        const reason = String(error.facts['provider'])
        decisions.record(request.id, permission, { rules: [], refusal: error.code, reason })
      }
      throw error
    }
  }

  return async (request, permission) => {
    await rateLimits.checkAddress(request).catch((error: unknown) => {
      const reason = 'too many refused tokens from its address'
      decisions.record(request.id, permission, { rules: [], refusal: 'too_many_requests', reason })
      throw error
    })
    const identity = await authenticate(request, permission)
    await rateLimits.countCaller(request, identity.name).catch((error: unknown) => {
      decisions.record(request.id, permission, { identity, rules: rulesOf(identity), refusal: 'too_many_requests' })
      throw error
    })
    return identity
  }
}

/** All of them, from the raw headers: Node's parsed ones hold only the first. */
function authorizationHeaders({ raw: { rawHeaders } }: FastifyRequest): readonly string[] {
  return rawHeaders.filter(
    (_value, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'authorization',
  )
}

function refusalOf(reason: string): WorkQueueError {
  if (reason === 'duplicated_header') {
    return new WorkQueueError('invalid_request', 'The Authorization header came more than once; send exactly one.')
  }
  return new WorkQueueError(
    'unauthenticated',
    'This needs a valid token: send the header "Authorization: Bearer TOKEN" with a token that the service knows.',
    { facts: { token_presented: reason !== 'missing' } },
  )
}
