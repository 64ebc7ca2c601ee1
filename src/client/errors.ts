/**
 * What can go wrong between a caller and the service. A problem that the service reported keeps its code and findings;
 * everything else says which address was asked and what to do about it.
 */
import type { Problem } from '../contract/problem.ts'
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import type { Finding } from '../lib/finding.ts'

/** The service answered with a problem document. */
export class ApiProblem extends WorkQueueError {
  readonly status: number
  readonly title: string
  readonly findings: readonly Finding[]
  readonly requestId: string

  constructor(problem: Problem, retryAfterMs: number | undefined) {
    super(problem.code, problem.detail, {
      failure: problem.status === 429 || problem.status >= 500 ? 'transient' : 'permanent',
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    })
    this.status = problem.status
    this.title = problem.title
    this.findings = problem.findings
    this.requestId = problem.request_id
  }
}

/** Nobody answered. */
export function serviceUnreachable(url: string, error: unknown): WorkQueueError {
  return new WorkQueueError(
    'service_unreachable',
    `The service at ${url} is not reachable (${causeOf(error)}). Check the address, and that the service runs.`,
    { cause: error, failure: 'transient' },
  )
}

export function serviceTimeout(url: string, timeoutMs: number, error: unknown): WorkQueueError {
  return new WorkQueueError(
    'service_timeout',
    `The service at ${url} did not answer within ${timeoutMs / 1_000} s. It may be overloaded; try again.`,
    { cause: error, failure: 'transient' },
  )
}

/** Somebody answered, but not in the service's words: a proxy, a login page, another program on that port. */
export function notTheService(url: string, status: number): WorkQueueError {
  return new WorkQueueError(
    'not_the_service',
    `What answers at ${url} does not speak like the work queue service (HTTP ${status}). Check the address.`,
    { failure: status === 429 || status >= 500 ? 'transient' : 'permanent', facts: { status } },
  )
}

/** fetch hides the reason one level down. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  const code: unknown = cause instanceof Error && 'code' in cause ? cause.code : undefined
  switch (code) {
    case 'ECONNREFUSED':
      return 'nothing listens there'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name is unknown'
    default:
      return typeof code === 'string' ? code : messageOf(cause)
  }
}
