/**
 * How often this process listens to whom. Callers are counted by name, whatever their address; addresses only by the tokens
 * of theirs that were refused, for behind one address there may be many good callers. Counted in each process: what the
 * callers of all processes share, the number of their open items, is the queue's to limit (decision 0086).
 */
import fastifyRateLimit from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'
import { WorkQueueError } from '../lib/errors.ts'
import type { RateLimits } from './admission.ts'
import type { Api } from './routes/route.ts'

/** Requests a minute; null = no limit. */
export interface RateLimitSettings {
  readonly per_caller: number | null
  readonly refused_per_address: number | null
}

export const NO_RATE_LIMITS: RateLimitSettings = { per_caller: null, refused_per_address: null }

const WINDOW_MS = 60_000
/** Addresses and callers that are remembered; those that were quiet for longest go first. */
const MOST_REMEMBERED = 20_000

export async function createRateLimits(app: Api, settings: RateLimitSettings): Promise<RateLimits> {
  await app.register(fastifyRateLimit, { global: false, cache: MOST_REMEMBERED })
  const names = new WeakMap<FastifyRequest, string>()
  // By default by address; of IPv6, by the network that one customer gets.
  const byAddress = createLimit(app, settings.refused_per_address)
  const byCaller = createLimit(app, settings.per_caller, (request) => names.get(request) ?? '')

  return {
    async checkAddress(request) {
      const waitMs = await byAddress(request, { increment: false })
      if (waitMs > 0) throw tooMany('Too many tokens from your address were refused', waitMs)
    },
    async countRefusal(request) {
      await byAddress(request)
    },
    async countCaller(request, caller) {
      names.set(request, caller)
      const waitMs = await byCaller(request)
      if (waitMs > 0) throw tooMany('You send more requests than the operator allows', waitMs)
    },
  }
}

type Limit = (request: FastifyRequest, options?: { readonly increment: boolean }) => Promise<number>

/** Answers how long to wait, 0 = not at all. */
function createLimit(app: Api, max: number | null, keyGenerator?: (request: FastifyRequest) => string): Limit {
  if (max === null) return async () => 0
  const key = keyGenerator === undefined ? {} : { keyGenerator }
  const check = app.createRateLimit({ max, timeWindow: WINDOW_MS, ...key })
  return async (request, options) => {
    const state = await check(request, options)
    return state.isAllowed || !state.isExceeded ? 0 : Math.max(1, state.ttl)
  }
}

function tooMany(what: string, retryAfterMs: number): WorkQueueError {
  return new WorkQueueError('too_many_requests', `${what}; wait, and send it again.`, {
    failure: 'transient',
    retryAfterMs,
  })
}
