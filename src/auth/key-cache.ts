/**
 * The keys of one issuer. They are fetched when the first token needs them, kept, and fetched again when they are old or a
 * token names one that is not among them, since it may be new. Many tokens share one fetch, and between fetches there is a
 * pause, so that no flood of invented key names reaches the key server. While the server is away, slow, or answers
 * nonsense, the last good keys serve on for a day; without any, nobody can say whether a token is good.
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import type { Log } from '../lib/log.ts'
import { HttpGetFailed } from './http-get.ts'
import { type AuthClock, IdentityProviderUnavailable } from './unavailable.ts'

const FRESH_MS = 10 * 60_000
/** How long keys may be used that could not be fetched again: the longest time for which a withdrawn key may still count. */
const GRACE_MS = 24 * 3_600_000
const PAUSE_AFTER_SUCCESS_MS = 30_000
const PAUSE_AFTER_FAILURE_MS = 5_000

export interface KeyCacheOptions {
  readonly issuer: string
  /** @throws HttpGetFailed. */
  readonly fetchKeys: () => Promise<JSONWebKeySet>
  readonly clock: AuthClock
  readonly log: Log
}

interface Keys {
  readonly find: ReturnType<typeof createLocalJWKSet>
  readonly fetchedAt: number
}

/** The answer finds the key of a token. @throws IdentityProviderUnavailable, or a JOSE error when there is no such key. */
export function createKeyCache({ issuer, fetchKeys, clock, log }: KeyCacheOptions): JWTVerifyGetKey {
  let keys: Keys | null = null
  let failure: { readonly at: number; readonly reason: string } | null = null
  let flight: Promise<void> | null = null

  const since = (at: number) => clock.monotonicMs() - at

  /** Ends with new keys or with `failure` set; never throws. */
  function refresh(): Promise<void> {
    if (failure !== null && since(failure.at) < PAUSE_AFTER_FAILURE_MS) return Promise.resolve()
    flight ??= fetchOnce().finally(() => {
      flight = null
    })
    return flight
  }

  async function fetchOnce(): Promise<void> {
    try {
      const fetched = await fetchKeys()
      keys = { find: createLocalJWKSet(fetched), fetchedAt: clock.monotonicMs() }
      if (failure !== null) log.info({ issuer }, 'the keys of the issuer can be fetched again')
      failure = null
    } catch (error) {
      const reason = error instanceof HttpGetFailed ? error.message : 'its keys cannot be read'
      failure = { at: clock.monotonicMs(), reason }
      const servesFor = keys === null ? 0 : Math.max(0, GRACE_MS - since(keys.fetchedAt))
      log.warn({ issuer, reason, old_keys_serve_for_ms: servesFor }, 'the keys of the issuer could not be fetched')
    }
  }

  function current(): Keys {
    if (keys !== null && since(keys.fetchedAt) < GRACE_MS) return keys
    throw unavailable()
  }

  function unavailable(): IdentityProviderUnavailable {
    const waited = failure === null ? 0 : since(failure.at)
    return new IdentityProviderUnavailable(issuer, failure?.reason ?? 'no keys', PAUSE_AFTER_FAILURE_MS - waited)
  }

  return async (header, token) => {
    if (keys === null || since(keys.fetchedAt) >= FRESH_MS) await refresh()
    const known = current()
    try {
      return await known.find(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      if (since(known.fetchedAt) < PAUSE_AFTER_SUCCESS_MS) throw error
    }
    await refresh()
    // The key may be a new one that could not be fetched: that is no reason to call the token bad.
    if (failure !== null) throw unavailable()
    return current().find(header, token)
  }
}
