/**
 * Opaque tokens of OpenShift: the cluster is asked, with the caller's own token, who its owner is (decision 0024). The
 * answer counts for five minutes, and so does a withdrawn token at most; what the cluster refuses is remembered for a
 * moment, so that repeating it costs the cluster nothing. Whatever else goes wrong is remembered by nobody and says
 * nothing about the token. Tokens are kept only as a keyed hash under a key that lives as long as the process.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Log } from '../lib/log.ts'
import { type HttpAnswer, HttpGetFailed, httpGet, readJson } from './http-get.ts'
import { type AuthClock, IdentityProviderUnavailable } from './unavailable.ts'

export interface OpenShiftUser {
  readonly name: string
  readonly groups: readonly string[]
}

export interface OpenShiftUsers {
  /** The API that vouches for them. */
  readonly url: string
  /** null: the cluster knows no such token. @throws IdentityProviderUnavailable. */
  userOf(token: string): Promise<OpenShiftUser | null>
}

export interface OpenShiftOptions {
  readonly apiUrl: string
  /** PEM; null = the certificates of the system. */
  readonly ca: () => Promise<string | null>
  readonly clock: AuthClock
  readonly log: Log
  readonly timeoutMs: number
  /** In [0, 1): spreads the ends of what was learnt together. */
  readonly random?: () => number
}

const USERS_PATH = '/apis/user.openshift.io/v1/users/~'
const TOKEN_SHAPE = /^sha256~[A-Za-z0-9_-]{43}$/
const USER_TTL_MS = 5 * 60_000
const REFUSAL_TTL_MS = 20_000
const MAX_ENTRIES = 10_000
const MAX_CALLS_AT_ONCE = 20
const RETRY_AFTER_MS = 5_000
const PROVIDER = 'openshift'

/** `groups` holds what the cluster adds by itself too, and may be missing for somebody who is in none. */
const userSchema = z.object({
  kind: z.literal('User'),
  metadata: z.object({ name: z.string().min(1).max(512) }),
  groups: z.array(z.string()).max(10_000).nullish(),
})

/** How the cluster says no. */
const statusSchema = z.object({ kind: z.literal('Status') })

export function isOpenShiftToken(token: string): boolean {
  return TOKEN_SHAPE.test(token)
}

export function createOpenShiftUsers({
  apiUrl,
  ca,
  clock,
  log,
  timeoutMs,
  random = Math.random,
}: OpenShiftOptions): OpenShiftUsers {
  const hashKey = randomBytes(32)
  const options = { max: MAX_ENTRIES, ttlResolution: 0, perf: { now: () => clock.monotonicMs() } }
  const users = new LRUCache<string, OpenShiftUser>({ ...options, ttl: USER_TTL_MS })
  // Apart from the users: a flood of invented tokens must not push out those that are known.
  const refusals = new LRUCache<string, true>({ ...options, ttl: REFUSAL_TTL_MS })
  const flights = new Map<string, Promise<OpenShiftUser | null>>()
  let saidThatThereAreNoUsers = false

  async function ask(token: string, key: string): Promise<OpenShiftUser | null> {
    const user = await askCluster(token)
    if (user === null) refusals.set(key, true)
    else users.set(key, user, { ttl: USER_TTL_MS * (0.9 + 0.2 * random()) })
    return user
  }

  async function askCluster(token: string): Promise<OpenShiftUser | null> {
    try {
      const certificates = await ca()
      const answer = await httpGet(usersUrl(apiUrl), {
        token,
        timeoutMs,
        ...(certificates === null ? {} : { ca: certificates }),
      })
      return readUser(answer)
    } catch (error) {
      if (error instanceof IdentityProviderUnavailable) throw error
      throw unavailable(error instanceof HttpGetFailed ? error.message : 'its certificates cannot be read')
    }
  }

  function readUser(answer: HttpAnswer): OpenShiftUser | null {
    const { status, retryAfterMs } = answer
    // 403: a token that may not even ask for its own name. A proxy on the way that says so has not asked the cluster.
    if ((status === 401 || status === 403) && isOfCluster(answer)) return null
    if (status === 404) {
      if (!saidThatThereAreNoUsers)
        log.warn({ path: USERS_PATH }, 'the cluster has no users of its own; rules with groups match nobody')
      saidThatThereAreNoUsers = true
      return null
    }
    if (status !== 200) throw unavailable(`it answered ${status}`, retryAfterMs)
    const user = userSchema.safeParse(readJson(answer))
    if (!user.success) throw unavailable('its answer is no user')
    return { name: user.data.metadata.name, groups: user.data.groups ?? [] }
  }

  function unavailable(reason: string, retryAfterMs = RETRY_AFTER_MS): IdentityProviderUnavailable {
    log.warn({ reason }, 'the cluster does not say whose a token is')
    return new IdentityProviderUnavailable(PROVIDER, reason, Math.max(1_000, retryAfterMs))
  }

  return {
    url: apiUrl,
    async userOf(token) {
      const key = createHmac('sha256', hashKey).update(token).digest('base64')
      const known = users.get(key)
      if (known !== undefined) return known
      if (refusals.has(key)) return null
      const flight = flights.get(key)
      if (flight !== undefined) return flight
      if (flights.size >= MAX_CALLS_AT_ONCE) throw unavailable('it is asked too much at once', 1_000)
      const started = ask(token, key).finally(() => flights.delete(key))
      flights.set(key, started)
      return started
    },
  }
}

function isOfCluster({ body }: HttpAnswer): boolean {
  try {
    return statusSchema.safeParse(JSON.parse(body.toString('utf8'))).success
  } catch {
    return false
  }
}

function usersUrl(apiUrl: string): URL {
  return new URL(`${apiUrl.replace(/\/+$/, '')}${USERS_PATH}`)
}
