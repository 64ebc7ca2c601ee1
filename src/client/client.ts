/**
 * The typed client of our own REST API. It reads every answer with the schemas of `contract`, gives every call a time
 * limit, and repeats only what is safe to repeat: reading. Writing again is the caller's decision, and always harmless
 * for a submission.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { z } from 'zod'
import {
  type HerderCoverageView,
  type HerderStatsView,
  type HerderTestView,
  herderCoverageSchema,
  herderStatsSchema,
  herderTestSchema,
} from '../contract/herder.ts'
import { type Inspection, inspectionSchema } from '../contract/inspection.ts'
import { type PauseRequest, type PausesView, type PauseView, pauseSchema, pausesSchema } from '../contract/pauses.ts'
import { PROBLEM_MEDIA_TYPE, problemSchema } from '../contract/problem.ts'
import {
  type DeadEvents,
  type DeadEventsQuery,
  deadEventsSchema,
  type QueueStatus,
  queueStatusSchema,
  type RevivedEvents,
  revivedSchema,
} from '../contract/queue.ts'
import { type ListQuery, MAX_SUBMISSION_BYTES } from '../contract/requests.ts'
import { type WhoAmI, whoamiSchema } from '../contract/whoami.ts'
import {
  type ListAnswer,
  listAnswerSchema,
  type SubmitAnswer,
  submitAnswerSchema,
  type WorkItemCore,
  type WorkItemView,
  workItemCoreSchema,
  workItemSchema,
} from '../contract/work-item.ts'
import { WorkQueueError } from '../lib/errors.ts'
import { ApiProblem, notTheService, serviceTimeout, serviceUnreachable } from './errors.ts'

export interface Client {
  readonly url: string
  submit(submission: unknown): Promise<SubmitAnswer>
  /** What submitting it would do; nothing is written, and findings are an answer. */
  inspect(submission: unknown): Promise<Inspection>
  list(query?: ListQuery): Promise<ListAnswer>
  get(id: string): Promise<WorkItemView>
  retry(id: string): Promise<WorkItemCore>
  cancel(id: string): Promise<WorkItemCore>
  queueStatus(): Promise<QueueStatus>
  deadEvents(query?: DeadEventsQuery): Promise<DeadEvents>
  reviveEvent(eventId: string): Promise<RevivedEvents>
  /** All dead events of one work item. */
  reviveEventsOf(workItemId: string): Promise<RevivedEvents>
  whoami(): Promise<WhoAmI>
  pauses(): Promise<PausesView>
  pause(request: PauseRequest): Promise<PauseView>
  resume(pauseId: string): Promise<PauseView>
  herderStats(query?: { readonly days?: number | undefined }): Promise<HerderStatsView>
  herderCoverage(query?: {
    readonly days?: number | undefined
    readonly limit?: number | undefined
  }): Promise<HerderCoverageView>
  /** What each matcher would do about the job at this address. */
  herderTest(jobUrl: string): Promise<HerderTestView>
}

export interface ClientOptions {
  /** Where the service is: `https://host[:port][/path]`. */
  readonly url: string
  readonly token: string
  readonly timeoutMs?: number
  /** For tests. */
  readonly fetch?: typeof fetch
  readonly wait?: (ms: number) => Promise<unknown>
}

const TIMEOUT_MS = 30_000
const READ_ATTEMPTS = 3
const FIRST_WAIT_MS = 300
/** A longer Retry-After is the caller's to wait for. */
const MAX_WAIT_MS = 5_000

/** @throws WorkQueueError `bad_service_url`. Calls throw ApiProblem, or WorkQueueError when there was no such answer. */
export function createClient(options: ClientOptions): Client {
  const { token, timeoutMs = TIMEOUT_MS, fetch: fetchIt = fetch, wait = sleep } = options
  const url = baseUrl(options.url)

  async function call<T>(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    schema: z.ZodType<T>,
    body?: unknown,
  ): Promise<T> {
    const response = await fetchIt(`${url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      // A redirect would carry the token to whoever is named in it.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw failureOf(url, timeoutMs, error)
    })
    const answer = await response.json().catch((error: unknown) => {
      if (error instanceof SyntaxError) throw notTheService(url, response.status)
      throw failureOf(url, timeoutMs, error)
    })
    if (!response.ok) throw problemOf(url, response, answer)
    const reading = schema.safeParse(answer)
    if (!reading.success) throw notTheService(url, response.status)
    return reading.data
  }

  async function read<T>(path: string, schema: z.ZodType<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await call('GET', path, schema)
      } catch (error) {
        const waitMs = waitBefore(error, attempt)
        if (waitMs === null) throw error
        await wait(waitMs)
      }
    }
  }

  return {
    url,
    async submit(submission) {
      refuseOversize(submission)
      return call('POST', '/work-items', submitAnswerSchema, submission)
    },
    async inspect(submission) {
      refuseOversize(submission)
      return call('POST', '/inspect', inspectionSchema, submission)
    },
    list: (query = {}) => read(`/work-items${queryString(query)}`, listAnswerSchema),
    get: (id) => read(`/work-items/${encodeURIComponent(id)}`, workItemSchema),
    retry: (id) => call('POST', `/work-items/${encodeURIComponent(id)}/retry`, workItemCoreSchema),
    cancel: (id) => call('POST', `/work-items/${encodeURIComponent(id)}/cancel`, workItemCoreSchema),
    queueStatus: () => read('/queue', queueStatusSchema),
    deadEvents: (query = {}) => read(`/queue/dead-events${queryString(query)}`, deadEventsSchema),
    reviveEvent: (eventId) => call('POST', `/queue/dead-events/${encodeURIComponent(eventId)}/revive`, revivedSchema),
    herderStats: (query = {}) => read(`/herder/stats${queryString(query)}`, herderStatsSchema),
    herderCoverage: (query = {}) => read(`/herder/coverage${queryString(query)}`, herderCoverageSchema),
    herderTest: (jobUrl) => read(`/herder/test${queryString({ job_url: jobUrl })}`, herderTestSchema),
    reviveEventsOf: (id) => call('POST', `/work-items/${encodeURIComponent(id)}/revive-events`, revivedSchema),
    whoami: () => read('/whoami', whoamiSchema),
    pauses: () => read('/pauses', pausesSchema),
    pause: (request) => call('POST', '/pauses', pauseSchema, request),
    resume: (id) => call('DELETE', `/pauses/${encodeURIComponent(id)}`, pauseSchema),
  }
}

/**
 * The service hangs up on a body that is too large, and a client that is still sending would only see that.
 * @throws WorkQueueError `payload_too_large`.
 */
export function refuseOversize(submission: unknown): void {
  const bytes = Buffer.byteLength(JSON.stringify(submission))
  if (bytes <= MAX_SUBMISSION_BYTES) return
  throw new WorkQueueError(
    'payload_too_large',
    `The submission is ${bytes} bytes as JSON, and the service takes at most ${MAX_SUBMISSION_BYTES}. Split the ` +
      'change into several submissions, each with a source branch of its own, or leave out the largest files.',
  )
}

function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '' && url.hash === '') {
    return url.href.replace(/\/+$/, '')
  }
  throw new WorkQueueError(
    'bad_service_url',
    'The address of the service must be like https://workqueue.example.com, without user name, "?" and "#".',
  )
}

/** How long to wait before a read is tried again; null = do not. */
function waitBefore(error: unknown, attempt: number): number | null {
  if (attempt >= READ_ATTEMPTS || !(error instanceof WorkQueueError) || error.failure === 'permanent') return null
  const waitMs = error.retryAfterMs ?? FIRST_WAIT_MS * 2 ** (attempt - 1)
  return waitMs <= MAX_WAIT_MS ? waitMs : null
}

function failureOf(url: string, timeoutMs: number, error: unknown): WorkQueueError {
  const timedOut = error instanceof Error && error.name === 'TimeoutError'
  return timedOut ? serviceTimeout(url, timeoutMs, error) : serviceUnreachable(url, error)
}

function problemOf(url: string, response: Response, answer: unknown): WorkQueueError {
  const reading = problemSchema.safeParse(answer)
  const isProblem = response.headers.get('content-type')?.startsWith(PROBLEM_MEDIA_TYPE) ?? false
  if (!reading.success || !isProblem) return notTheService(url, response.status)
  const seconds = Number(response.headers.get('retry-after') ?? 'none')
  return new ApiProblem(reading.data, Number.isFinite(seconds) ? seconds * 1_000 : undefined)
}

function queryString(query: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined)
  return entries.length === 0
    ? ''
    : `?${new URLSearchParams(Object.fromEntries(entries.map(([key, value]) => [key, String(value)])))}`
}
