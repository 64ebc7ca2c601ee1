/**
 * What can go wrong with a call to GitLab, classed for the queue: transient (network, timeout, 401, 429, 5xx) may work later,
 * permanent will not. The codes are the port's own and never change; GitLab's words differ between versions, so they are
 * kept for people (`answer`) and the status decides. An error never carries the request, a header or the token.
 */
import { type FailureClass, WorkQueueError } from '../lib/errors.ts'

export interface GitLabCall {
  readonly method: string
  /** Below `/api/v4/`, without the query. */
  readonly endpoint: string
}

interface GitLabErrorOptions {
  readonly failure: FailureClass
  readonly status?: number
  readonly answer?: string
  readonly retryAfterMs?: number | undefined
}

export class GitLabError extends WorkQueueError {
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null
  /** GitLab's own sentence, for people; '' when there was none. */
  readonly answer: string

  constructor(code: string, message: string, { failure, status, answer, retryAfterMs }: GitLabErrorOptions) {
    super(code, message, {
      failure,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(status === undefined ? {} : { facts: { status } }),
    })
    this.status = status ?? null
    this.answer = answer ?? ''
  }

  /** The same failure under a name that says more about it. */
  renamed(code: string, message: string, changes: Partial<GitLabErrorOptions> = {}): GitLabError {
    return new GitLabError(code, message, {
      failure: this.failure,
      answer: this.answer,
      retryAfterMs: this.retryAfterMs,
      ...(this.status === null ? {} : { status: this.status }),
      ...changes,
    })
  }
}

const MAX_ANSWER_LENGTH = 500
const MAX_RETRY_AFTER_MS = 3_600_000

/** The error for an answer that is no success: its status decides about code and class. */
export function errorOfAnswer(
  call: GitLabCall,
  answer: { readonly status: number; readonly text: string; readonly retryAfter: string | null },
  now: Date = new Date(),
): GitLabError {
  const { code, failure } = classify(answer.status)
  const sentence = readErrorText(answer.text)
  return new GitLabError(code, `GitLab answered ${answer.status} to ${describe(call)}${sentence && `: ${sentence}`}`, {
    failure,
    status: answer.status,
    answer: sentence,
    retryAfterMs: failure === 'transient' ? readRetryAfter(answer.retryAfter, now) : undefined,
  })
}

export function timeoutError(call: GitLabCall): GitLabError {
  return new GitLabError('gitlab_timeout', `GitLab did not answer ${describe(call)} in time`, { failure: 'transient' })
}

export function networkError(call: GitLabCall, reason: string): GitLabError {
  return new GitLabError('gitlab_unavailable', `GitLab could not be reached for ${describe(call)}: ${reason}`, {
    failure: 'transient',
  })
}

/** Nothing was sent: the host failed too often or asked for a pause. `until` is null while another call tries it. */
export function leftAloneError(host: string, until: Date | null, remainingMs: number): GitLabError {
  const when = until === null ? 'another call is trying it just now' : `it is tried again at ${until.toISOString()}`
  return new GitLabError('gitlab_unavailable', `GitLab at ${host} is left alone until it works again; ${when}`, {
    failure: 'transient',
    retryAfterMs: remainingMs,
  })
}

/** The item's signal was aborted: the lease is lost or the process stops. Somebody will do the action again. */
export function abortedError(call: GitLabCall): GitLabError {
  return new GitLabError('gitlab_aborted', `${describe(call)} was given up, because the work on the item stopped`, {
    failure: 'transient',
  })
}

/** Transient, because a proxy's page in place of an answer is more likely than a GitLab that changed for good. */
export function unexpectedAnswerError(call: string, detail: string): GitLabError {
  return new GitLabError('gitlab_unexpected_answer', `GitLab's answer to ${call} cannot be read: ${detail}`, {
    failure: 'transient',
  })
}

function describe({ method, endpoint }: GitLabCall): string {
  return `${method} ${endpoint}`
}

function classify(status: number): { code: string; failure: FailureClass } {
  if (status === 429) return { code: 'gitlab_rate_limited', failure: 'transient' }
  if (status >= 500 || status === 408) return { code: 'gitlab_unavailable', failure: 'transient' }
  if (status >= 300 && status < 400) return { code: 'gitlab_redirected', failure: 'permanent' }
  switch (status) {
    case 401:
      // The token is the service's own: an expired one is an outage for the operator to end, and no item's fault.
      return { code: 'gitlab_unauthorized', failure: 'transient' }
    case 403:
      return { code: 'gitlab_forbidden', failure: 'permanent' }
    case 404:
      return { code: 'gitlab_not_found', failure: 'permanent' }
    case 409:
      return { code: 'gitlab_conflict', failure: 'permanent' }
    default:
      return { code: 'gitlab_rejected', failure: 'permanent' }
  }
}

/** One sentence out of GitLab's five shapes of error bodies: text, list or map under `message`, `error`, or no JSON. */
export function readErrorText(body: string): string {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return shorten(body.trimStart().startsWith('<') ? 'an HTML page' : body)
  }
  if (typeof value !== 'object' || value === null) return shorten(flatten(value))
  const { message, error, error_description: description } = value as Record<string, unknown>
  return shorten(flatten(message ?? description ?? error ?? ''))
}

function flatten(value: unknown): string {
  if (Array.isArray(value)) return value.map(flatten).join(', ')
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value)
    .map(([field, texts]) => (field === 'base' || field === 'error' ? flatten(texts) : `${field} ${flatten(texts)}`))
    .join(', ')
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > MAX_ANSWER_LENGTH ? `${line.slice(0, MAX_ANSWER_LENGTH)}…` : line
}

/** Retry-After is a number of seconds or a date. Capped: an hour is as long as we let the other side decide. */
export function readRetryAfter(header: string | null, now: Date): number | undefined {
  if (header === null) return undefined
  const waitMs = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now.getTime()
  return Number.isFinite(waitMs) ? Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS) : undefined
}
