/**
 * Where an issuer keeps its keys, and the keys: OpenID Connect discovery. The document must name exactly the issuer that
 * it was asked of, else a provider could speak for another one. Only addresses from the configuration and from documents
 * of configured issuers are ever asked, never one from a token.
 */
import type { JSONWebKeySet } from 'jose'
import { z } from 'zod'
import { HttpGetFailed, type HttpGetOptions, httpGet, readJson } from './http-get.ts'
import type { AuthClock } from './unavailable.ts'

const discoverySchema = z.object({ issuer: z.string().min(1).max(512), jwks_uri: z.string().max(2_048) })

/** Without a key no token could be judged, and no issuer means that. */
const keySetSchema = z.object({
  keys: z
    .array(z.looseObject({ kty: z.string() }))
    .min(1)
    .max(1_000),
})

export type DiscoveryDocument = z.output<typeof discoverySchema>

const DISCOVERY_FRESH_MS = 3_600_000

/** Fetches the keys of a public issuer; asks where they are once an hour. @throws HttpGetFailed. */
export function createKeyFetcher(
  issuer: string,
  options: () => Promise<HttpGetOptions>,
  clock: AuthClock,
): () => Promise<JSONWebKeySet> {
  let found: { readonly keysUrl: URL; readonly at: number } | null = null
  return async () => {
    const settled = await options()
    if (found === null || clock.monotonicMs() - found.at >= DISCOVERY_FRESH_MS) {
      found = { keysUrl: await findKeysUrl(issuer, settled), at: clock.monotonicMs() }
    }
    try {
      return readKeySet(readJson(await httpGet(found.keysUrl, settled)))
    } catch (error) {
      // They may have moved.
      found = null
      throw error
    }
  }
}

async function findKeysUrl(issuer: string, options: HttpGetOptions): Promise<URL> {
  const document = readDiscovery(readJson(await httpGet(discoveryUrl(issuer), options)))
  if (document.issuer !== issuer) throw new HttpGetFailed('its discovery document names another issuer')
  const keysUrl = readUrl(document.jwks_uri)
  // What is fetched there decides who is let in; it must not come by a weaker way than the document.
  if (keysUrl.protocol !== 'https:' && issuer.startsWith('https:')) {
    throw new HttpGetFailed('the address of its keys is not https')
  }
  return keysUrl
}

export function discoveryUrl(base: string): URL {
  return new URL(`${base.replace(/\/$/, '')}/.well-known/openid-configuration`)
}

export function readUrl(text: string): URL {
  if (!URL.canParse(text)) throw new HttpGetFailed('the address of its keys is none')
  return new URL(text)
}

export function readDiscovery(answer: unknown): DiscoveryDocument {
  const result = discoverySchema.safeParse(answer)
  if (!result.success) throw new HttpGetFailed('its answer is no discovery document')
  return result.data
}

export function readKeySet(answer: unknown): JSONWebKeySet {
  const result = keySetSchema.safeParse(answer)
  if (!result.success) throw new HttpGetFailed('its answer is no set of keys')
  return result.data
}
