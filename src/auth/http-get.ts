/**
 * The one way in which this room asks an identity provider something: GET, over TLS (or on this machine), without
 * following redirects, within a time and up to a size. It says what went wrong in words of its own, because what a client
 * library says may quote the header that holds a token.
 */
import { isUtf8 } from 'node:buffer'
import http from 'node:http'
import https from 'node:https'
import { faultOfTransport } from './issuer-url.ts'

export interface HttpGetOptions {
  /** Sent as a bearer token. */
  readonly token?: string
  /** PEM; in place of the certificates of the system. */
  readonly ca?: string
  readonly timeoutMs: number
  readonly maxBytes?: number
}

export interface HttpAnswer {
  readonly status: number
  readonly body: Buffer
  /** Of a Retry-After in seconds, bounded. */
  readonly retryAfterMs: number | undefined
}

/** No answer, or none that may be read. The message is safe to log. */
export class HttpGetFailed extends Error {}

const MAX_BYTES = 1_048_576
const MAX_RETRY_AFTER_S = 300

/** @throws HttpGetFailed. */
export async function httpGet(url: URL, options: HttpGetOptions): Promise<HttpAnswer> {
  const fault = faultOfTransport(url)
  if (fault !== null) throw new HttpGetFailed(`its address ${fault}`)
  const timeout = AbortSignal.timeout(options.timeoutMs)
  try {
    return await exchange(url, options, timeout)
  } catch (error) {
    if (error instanceof HttpGetFailed) throw error
    if (timeout.aborted) throw new HttpGetFailed(`no answer within ${options.timeoutMs} ms`)
    throw new HttpGetFailed(`no answer (${codeOf(error)})`)
  }
}

/** The body of a 200 as JSON. @throws HttpGetFailed. */
export function readJson({ status, body }: HttpAnswer): unknown {
  if (status !== 200) throw new HttpGetFailed(`it answered ${status}`)
  try {
    if (isUtf8(body)) return JSON.parse(body.toString('utf8'))
  } catch {
    // Said below.
  }
  throw new HttpGetFailed('its answer is no JSON')
}

function exchange(
  url: URL,
  { token, ca, maxBytes = MAX_BYTES }: HttpGetOptions,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const headers = { accept: 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
  const options = { headers, signal, ...(ca === undefined ? {} : { ca }) }
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? https : http).get(url, options, (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes > maxBytes) response.destroy(new HttpGetFailed(`its answer is larger than ${maxBytes} bytes`))
      })
      response.on('end', () => {
        const { statusCode: status = 0, headers: answered } = response
        resolve({ status, body: Buffer.concat(chunks), retryAfterMs: retryAfterOf(answered['retry-after']) })
      })
      response.on('error', reject)
      // A connection that ends in the middle of a body ends neither in `end` nor, always, in `error`.
      response.on('close', () => reject(new HttpGetFailed('its answer broke off')))
    })
    request.on('error', reject)
  })
}

function retryAfterOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,9}$/.test(text)) return undefined
  return Math.min(Number(text), MAX_RETRY_AFTER_S) * 1_000
}

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'network'
}
