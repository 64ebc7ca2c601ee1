/**
 * The way to GitLab. gitbeaker builds the requests; sending them is ours, because its own sender repeats 429 and 502 by
 * itself (the queue owns that decision), follows redirects, cannot be aborted by a caller, and hangs the request with its
 * token on the errors it throws. Every request here has a timeout, stops when the item's signal is aborted, treats a
 * redirect as an error, reads at most MAX_ANSWER_BYTES, and passes the breaker, which refuses it while GitLab is away.
 */
import { type BaseResourceOptions, createRequesterFn, type FormattedResponse } from '@gitbeaker/requester-utils'
import type { z } from 'zod'
import type { Breaker } from './breaker.ts'
import {
  abortedError,
  errorOfAnswer,
  type GitLabCall,
  GitLabError,
  networkError,
  timeoutError,
  unexpectedAnswerError,
} from './errors.ts'
import type { CallOptions } from './port.ts'

export interface ConnectionOptions {
  /** Without a trailing slash and without `/api/v4`. */
  readonly url: string
  readonly token: string | (() => Promise<string>)
  readonly timeoutMs: number
}

/** A gitbeaker resource (Commits, MergeRequests, …) for one call. */
export type Connection = <R>(Resource: new (options: BaseResourceOptions<false>) => R, call?: ConnectionCall) => R

interface ConnectionCall extends CallOptions {
  /** Only so many bytes of the answer are kept, its last ones. */
  readonly lastBytes?: number
}

/** A merge request with the largest description GitLab takes is below this; a tree page is far below. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024
/** Of an answer of which only the end is kept: GitLab's own limit for the log of a job. */
const MAX_PASSING_BYTES = 100 * 1024 * 1024

export function createConnection({ url, token, timeoutMs }: ConnectionOptions, breaker: Breaker): Connection {
  return (Resource, call = {}) =>
    new Resource({
      host: url,
      // Never the option `token`: it sends PRIVATE-TOKEN, which fetch keeps across a redirect to another host.
      oauthToken: token,
      queryTimeout: timeoutMs,
      rateLimits: {},
      requesterFn: createRequesterFn(
        async (_resource, request) => request,
        (endpoint, request) => send(endpoint, (request ?? {}) as Request, breaker, call),
      ),
    })
}

/** Reads an answer with its schema. @throws GitLabError `gitlab_unexpected_answer`, which never quotes the answer. */
export function readAnswer<T>(schema: z.ZodType<T>, answer: unknown, call: string): T {
  const result = schema.safeParse(answer)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw unexpectedAnswerError(call, `${issue?.path.join('.') || 'the whole of it'}: ${issue?.message}`)
}

/** null in place of a 404, and of nothing else: an answer must have been read by then. */
export async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof GitLabError && error.status === 404) return null
    throw error
  }
}

interface Request {
  readonly method?: string
  readonly prefixUrl?: string
  readonly searchParams?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  /** gitbeaker's timeout. */
  readonly signal?: AbortSignal
}

async function send(
  endpoint: string,
  request: Request,
  breaker: Breaker,
  { signal: aborted, lastBytes }: ConnectionCall,
): Promise<FormattedResponse> {
  const { method = 'GET', prefixUrl = '', searchParams = '' } = request
  const url = new URL(`${prefixUrl.replace(/\/+$/, '')}/${endpoint}`)
  url.search = searchParams
  const call = { method, endpoint }
  // A name of `..` is not encoded, and the URL would fold it away: the call would reach another resource.
  if (endpoint.split('/').some((segment) => segment === '.' || segment === '..')) {
    throw new GitLabError('gitlab_rejected', `${method} ${endpoint} is not a GitLab address`, { failure: 'permanent' })
  }
  if (aborted?.aborted) throw abortedError(call)
  return breaker.guard(() => exchange(call, url, request, aborted, lastBytes))
}

async function exchange(
  call: GitLabCall,
  url: URL,
  { headers = {}, body, signal: timeout }: Request,
  aborted?: AbortSignal,
  lastBytes?: number,
): Promise<FormattedResponse> {
  const signals = [timeout, aborted].filter((signal) => signal !== undefined)
  try {
    const response = await fetch(url, {
      method: call.method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.any(signals),
      ...(body === undefined ? {} : { body }),
    })
    const text = await readText(response, call, response.ok ? lastBytes : undefined)
    if (!response.ok) {
      throw errorOfAnswer(call, { status: response.status, text, retryAfter: response.headers.get('retry-after') })
    }
    return { body: parse(response, text, call), headers: Object.fromEntries(response.headers), status: response.status }
  } catch (error) {
    if (error instanceof GitLabError) throw error
    if (aborted?.aborted) throw abortedError(call)
    if (timeout?.aborted) throw timeoutError(call)
    throw networkError(call, reasonOf(error))
  }
}

async function readText(response: Response, call: GitLabCall, lastBytes?: number): Promise<string> {
  const maxBytes = lastBytes === undefined ? MAX_ANSWER_BYTES : MAX_PASSING_BYTES
  const kept: Uint8Array[] = []
  let keptBytes = 0
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw unexpectedAnswerError(`${call.method} ${call.endpoint}`, 'it is too large')
    kept.push(chunk)
    keptBytes += chunk.byteLength
    for (let first = kept[0]; lastBytes !== undefined && first !== undefined; first = kept[0]) {
      if (keptBytes - first.byteLength < lastBytes) break
      keptBytes -= first.byteLength
      kept.shift()
    }
  }
  const whole = Buffer.concat(kept)
  return new TextDecoder().decode(lastBytes === undefined ? whole : whole.subarray(-lastBytes))
}

function parse(response: Response, text: string, call: GitLabCall): FormattedResponse['body'] {
  if (response.status === 204) return null
  if (!response.headers.get('content-type')?.includes('json')) return text
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    throw unexpectedAnswerError(`${call.method} ${call.endpoint}`, 'it is no JSON')
  }
}

/** fetch says only "fetch failed"; what failed is in the cause. */
/** Codes and our own words only: what a client library says may quote the header that holds the token. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof Error && 'code' in cause) return String(cause.code)
  if (cause instanceof Error && cause.message === 'unexpected redirect') return cause.message
  return 'the request could not be made'
}
