/**
 * "Nobody can say just now whether this token is good": an identity provider is down, slow, overloaded or talks nonsense.
 * It is an error and no kind of refusal, so that it can become neither an allow nor a 401: the API answers 503 with
 * Retry-After, and a caller with a good token comes back instead of giving up.
 */
import { WorkQueueError } from '../lib/errors.ts'

export class IdentityProviderUnavailable extends WorkQueueError {
  /** `provider` and `reason` are ours or from the configuration, never from a token; they are for the log alone. */
  constructor(provider: string, reason: string, retryAfterMs: number) {
    const message =
      'Whoever has to vouch for your token cannot be asked just now. Nothing was accepted; try again later.'
    super('identity_provider_unavailable', message, { failure: 'transient', retryAfterMs, facts: { provider, reason } })
  }
}

/** The clocks of this room. `monotonicMs` is never set back; ages and pauses are measured by it. */
export interface AuthClock {
  now(): Date
  monotonicMs(): number
}

export const systemClock: AuthClock = { now: () => new Date(), monotonicMs: () => performance.now() }
