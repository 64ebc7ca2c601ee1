/**
 * The Kubernetes cluster that the service runs in, as an identity provider (decisions 0011 and 0026): who its issuer is is
 * asked of the cluster and never configured, because it differs from cluster to cluster. Everything is asked of one fixed
 * address, with the service's own token, checked against the certificate that lies beside it; of an address in a document
 * only the path is used. Outside a cluster there is no certificate, and rules for the cluster are left out with a warning.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleepFor } from 'node:timers/promises'
import type { JSONWebKeySet } from 'jose'
import { backoffMs } from '../lib/backoff.ts'
import type { Log } from '../lib/log.ts'
import { discoveryUrl, readDiscovery, readKeySet, readUrl } from './discovery.ts'
import { type HttpAnswer, HttpGetFailed, httpGet, readJson } from './http-get.ts'

export interface ClusterPlace {
  /** Holds `ca.crt` and `token`. */
  readonly directory: string
  readonly apiUrl: string
}

export const IN_CLUSTER: ClusterPlace = {
  directory: '/var/run/secrets/kubernetes.io/serviceaccount',
  apiUrl: 'https://kubernetes.default.svc',
}

export function isInCluster({ directory }: ClusterPlace): boolean {
  return existsSync(join(directory, 'ca.crt'))
}

export interface ClusterIssuer {
  /** null: not known yet. */
  readonly issuer: string | null
  /** Keeps looking for the issuer, and looks again every hour, until the signal stops it. */
  watch(signal: AbortSignal): Promise<void>
  /** @throws HttpGetFailed. */
  fetchKeys(): Promise<JSONWebKeySet>
}

export interface ClusterIssuerOptions {
  readonly place: ClusterPlace
  readonly log: Log
  readonly timeoutMs: number
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

const LOOK_AGAIN_MS = 3_600_000
const RETRY = { baseMs: 1_000, maxMs: 60_000 }
/** Where Kubernetes itself serves them, whatever the document says. */
const KEYS_PATH = '/openid/v1/jwks'

export function createClusterIssuer({
  place,
  log,
  timeoutMs,
  sleep = sleepUnref,
}: ClusterIssuerOptions): ClusterIssuer {
  let known: { readonly issuer: string; readonly keysPath: string } | null = null

  async function look(): Promise<void> {
    const { issuer, jwks_uri } = readDiscovery(readJson(await ask(discoveryUrl(place.apiUrl))))
    if (known?.issuer !== issuer) log.info({ issuer }, 'the cluster says who its issuer is')
    known = { issuer, keysPath: readUrl(jwks_uri).pathname }
  }

  /** The token is read for every call, because it is replaced while the service runs. */
  async function ask(url: URL): Promise<HttpAnswer> {
    const [ca, token] = await Promise.all(['ca.crt', 'token'].map((name) => read(join(place.directory, name))))
    return httpGet(url, { timeoutMs, ...(ca ? { ca } : {}), ...(token ? { token: token.trim() } : {}) })
  }

  return {
    get issuer() {
      return known?.issuer ?? null
    },
    async watch(signal) {
      for (let failures = 0; !signal.aborted; ) {
        try {
          await look()
          failures = 0
        } catch (error) {
          failures += 1
          const reason = error instanceof HttpGetFailed ? error.message : 'its answer cannot be read'
          log.warn({ reason, failures, issuer: known?.issuer ?? null }, 'the cluster does not say who its issuer is')
        }
        await sleep(failures === 0 ? LOOK_AGAIN_MS : backoffMs(failures, RETRY, Math.random), signal)
      }
    },
    async fetchKeys() {
      const path = known?.keysPath ?? KEYS_PATH
      const answer = await ask(atCluster(place.apiUrl, path))
      // A document that names another host may name a path that the cluster does not have, or does not open to us.
      const misled = path !== KEYS_PATH && (answer.status === 404 || answer.status === 403)
      return readKeySet(readJson(misled ? await ask(atCluster(place.apiUrl, KEYS_PATH)) : answer))
    },
  }
}

/** Setting the path, unlike resolving it, cannot lead to another host. */
function atCluster(apiUrl: string, path: string): URL {
  const url = new URL(apiUrl)
  url.pathname = path
  return url
}

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => {
    throw new HttpGetFailed(`${file} cannot be read`)
  })
}

async function sleepUnref(ms: number, signal: AbortSignal): Promise<unknown> {
  return sleepFor(ms, undefined, { signal, ref: false }).catch(() => undefined)
}
