/**
 * Turns an Authorization header into an identity, or into a refusal with the reason for the log: the caller is told the
 * same for every cause. A bearer token is sent to the one method for its shape, and no other method ever sees it: an
 * opaque token goes to no issuer, and a JSON Web Token to no cluster, where its audience would count for nothing.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Log, silentLog } from '../lib/log.ts'
import { type Authentication, refuse } from './authentication.ts'
import { type ClusterIssuer, type ClusterPlace, createClusterIssuer, IN_CLUSTER, isInCluster } from './cluster.ts'
import { type AuthConfig, type IssuerSettings, settleIssuers } from './config.ts'
import { createKeyFetcher } from './discovery.ts'
import { HttpGetFailed } from './http-get.ts'
import { CLUSTER_ISSUER } from './issuer-url.ts'
import { createJwtCallers, type JwtIssuer } from './jwt-callers.ts'
import { looksLikeJwt } from './jwt-shape.ts'
import { createKeyCache } from './key-cache.ts'
import { createOpenShiftUsers, isOpenShiftToken, type OpenShiftUsers } from './openshift.ts'
import { createOpenShiftCallers } from './openshift-callers.ts'
import { createStaticCallers } from './static-callers.ts'
import { isStaticToken } from './token.ts'
import { type AuthClock, systemClock } from './unavailable.ts'

export type { Authentication } from './authentication.ts'

export interface Authenticator {
  /**
   * Takes every Authorization header of the request: Node itself would silently keep the first of two.
   * @throws IdentityProviderUnavailable: nobody can say now; it is for neither an allow nor a 401.
   */
  authenticate(authorizationHeaders: readonly string[]): Promise<Authentication>
}

export interface AuthenticationService extends Authenticator {
  /** Begins to look for the issuer of the cluster, where a rule needs it. */
  start(): void
  stop(): void
}

export interface AuthenticatorOptions {
  readonly clock?: AuthClock
  readonly log?: Log
  readonly place?: ClusterPlace
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>
  /** How long an identity provider may take to answer. */
  readonly timeoutMs?: number
}

const MAX_HEADER_LENGTH = 8_192
const BEARER = /^Bearer ([A-Za-z0-9._~+/-]+=*)$/i
const TIMEOUT_MS = 3_000

export function createAuthenticator(config: AuthConfig, options: AuthenticatorOptions = {}): AuthenticationService {
  const { clock = systemClock, log = silentLog, place = IN_CLUSTER, sleep, timeoutMs = TIMEOUT_MS } = options
  const surroundings = { clock, log, place, timeoutMs }
  const settled = settleIssuers(config)
  const needsCluster = settled.some(({ issuer }) => issuer === CLUSTER_ISSUER) && isInCluster(place)
  const cluster = needsCluster
    ? createClusterIssuer({ place, log, timeoutMs, ...(sleep === undefined ? {} : { sleep }) })
    : null
  const users = findUsers(config, surroundings)
  const stopping = new AbortController()

  const now = () => clock.now()
  const staticCaller = createStaticCallers(config.rules, now)
  const openShiftCaller = createOpenShiftCallers(config.rules, users, now)
  const jwtCaller = createJwtCallers(
    settled.flatMap((settings) => createIssuer(settings, cluster, surroundings)),
    clock,
  )

  return {
    async authenticate(headers) {
      const [header, ...others] = headers
      if (header === undefined) return refuse('missing')
      if (others.length > 0) return refuse('duplicated_header')
      const token = header.length <= MAX_HEADER_LENGTH ? BEARER.exec(header)?.[1] : undefined
      if (token === undefined) return refuse('malformed')
      if (isStaticToken(token)) return staticCaller(token)
      if (isOpenShiftToken(token)) return openShiftCaller(token)
      return looksLikeJwt(token) ? jwtCaller(token) : refuse('malformed')
    },
    start() {
      const skipped = config.rules
        .filter(({ issuer, groups }) => (issuer === CLUSTER_ISSUER && !cluster) || (groups !== undefined && !users))
        .map(({ name }) => name)
      if (skipped.length > 0) log.warn({ rules: skipped }, 'not in a cluster: these rules match nobody')
      void cluster?.watch(stopping.signal)
    },
    stop() {
      stopping.abort()
    },
  }
}

type Surroundings = Required<Omit<AuthenticatorOptions, 'sleep'>>

/** null where no rule has groups, or there is no cluster to ask. */
function findUsers(
  { rules, openshift }: AuthConfig,
  { clock, log, place, timeoutMs }: Surroundings,
): OpenShiftUsers | null {
  if (rules.every(({ groups }) => groups === undefined)) return null
  const { api_url: apiUrl, ca_file: caFile } = openshift
  if (apiUrl !== undefined)
    return createOpenShiftUsers({ apiUrl, ca: () => readCertificates(caFile), clock, log, timeoutMs })
  if (!isInCluster(place)) return null
  const ca = () => readCertificates(join(place.directory, 'ca.crt'))
  return createOpenShiftUsers({ apiUrl: place.apiUrl, ca, clock, log, timeoutMs })
}

/** None for the cluster, outside of one: its rules are left out (decision 0026). */
function createIssuer(
  settings: IssuerSettings,
  cluster: ClusterIssuer | null,
  { clock, log, timeoutMs }: Surroundings,
): readonly JwtIssuer[] {
  const { issuer, ca_file: caFile } = settings
  if (issuer === CLUSTER_ISSUER) {
    if (cluster === null) return []
    const findKey = createKeyCache({ issuer, fetchKeys: () => cluster.fetchKeys(), clock, log })
    return [{ settings, findKey, name: () => cluster.issuer }]
  }
  const httpOptions = async () => {
    const ca = await readCertificates(caFile)
    return { timeoutMs, ...(ca === null ? {} : { ca }) }
  }
  const findKey = createKeyCache({ issuer, fetchKeys: createKeyFetcher(issuer, httpOptions, clock), clock, log })
  return [{ settings, findKey, name: () => issuer }]
}

/** Read for every call, since certificates are replaced while the service runs. */
async function readCertificates(file: string | undefined): Promise<string | null> {
  if (file === undefined) return null
  return readFile(file, 'utf8').catch(() => {
    throw new HttpGetFailed(`${file} cannot be read`)
  })
}
