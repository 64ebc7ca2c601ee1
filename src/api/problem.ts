/**
 * The one table from error code to HTTP status and title, and the problem document made from it. A code that is not here
 * never reaches a caller: what waiting may mend is answered as `unavailable`, everything else as `internal_error`, so
 * that nothing of our insides leaks. `help` is for the documentation page.
 */
import type { Problem } from '../contract/problem.ts'
import type { Finding } from '../lib/finding.ts'

export interface ProblemKind {
  readonly status: number
  readonly title: string
  /** One sentence for the caller who meets it for the first time. */
  readonly help: string
}

export const PROBLEMS = {
  invalid_request: {
    status: 400,
    title: 'The request is not valid',
    help: 'The path, the query or the body is not what the operation takes; each finding names a field.',
  },
  malformed_json: {
    status: 400,
    title: 'The body is not JSON',
    help: 'The detail names the line, the column and what JSON would allow there.',
  },
  invalid_utf8: { status: 400, title: 'The body is not UTF-8', help: 'Send JSON encoded as UTF-8.' },
  webhook_not_understood: {
    status: 400,
    title: 'The webhook delivery is not understood',
    help: 'The body is no delivery of a GitLab project or group webhook.',
  },
  unauthenticated: {
    status: 401,
    title: 'No valid token',
    help: 'Send `Authorization: Bearer TOKEN` with a token that a rule of the service knows and that has not expired.',
  },
  webhook_unauthenticated: {
    status: 401,
    title: 'The webhook secret is wrong',
    help: 'Enter the secret of the service configuration as the secret token of the webhook in GitLab.',
  },
  permission_denied: {
    status: 403,
    title: 'Not permitted',
    help: 'The token is valid, but no rule gives it this permission; ask the operator of the service.',
  },
  not_found: { status: 404, title: 'No such address', help: 'Compare the path with the operations on this page.' },
  work_item_not_found: {
    status: 404,
    title: 'No such work item',
    help: 'It does not exist, its type is not served here, or you may not see it.',
  },
  dead_event_not_found: {
    status: 404,
    title: 'No such dead event',
    help: 'It was revived, went with its work item, or never was; the list of dead events has those that are left.',
  },
  pause_not_found: {
    status: 404,
    title: 'No such pause',
    help: 'It has ended, or never was; the list of pauses has those that hold.',
  },
  job_not_found: {
    status: 404,
    title: 'No such job',
    help: 'Take the address of a job from the browser; its project has to be in the configuration of the service.',
  },
  webhook_not_configured: {
    status: 404,
    title: 'Webhooks are off',
    help: 'The service has no webhook secret; set one in its configuration to receive webhooks.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    help: 'The address exists, for the methods in the Allow header.',
  },
  request_timeout: { status: 408, title: 'The request took too long', help: 'Send the whole request within 30 s.' },
  not_retryable: {
    status: 409,
    title: 'Nothing to retry',
    help: 'The work item is completed; a new submission starts its next generation.',
  },
  not_cancellable: { status: 409, title: 'Nothing to cancel', help: 'The work item is over already.' },
  item_not_active: {
    status: 409,
    title: 'The work item is over',
    help: 'Only active work items take events; retry the item first, unless it is completed.',
  },
  owned_by_another_caller: {
    status: 409,
    title: 'The work item is of another caller',
    help: 'A live work item of the same identity was submitted by somebody else; changing it takes the permission `overwrite`.',
  },
  superseded: {
    status: 409,
    title: 'A newer work item took over',
    help: 'A newer submission for the same identity is live; follow that one.',
  },
  payload_too_large: {
    status: 413,
    title: 'The body is too large',
    help: 'Submissions may have 8 MiB, webhooks 25 MB; split the change.',
  },
  uri_too_long: { status: 414, title: 'The address is too long', help: 'Compare the path with the operations here.' },
  unsupported_media_type: {
    status: 415,
    title: 'The body must be JSON',
    help: 'Send `Content-Type: application/json`.',
  },
  submission_rejected: {
    status: 422,
    title: 'The submission was refused',
    help: 'Every finding names a place and a cure; mend all of them and send it again.',
  },
  item_type_not_handled: {
    status: 422,
    title: 'Unknown item type',
    help: 'The service does not serve this item type; the detail lists those it serves.',
  },
  unstorable_value: {
    status: 422,
    title: 'A value cannot be stored',
    help: 'The database refused a text or a number of the request; correct it before sending it again.',
  },
  too_many_open_items: {
    status: 429,
    title: 'Too many open work items',
    help: 'The caller, or the project, has as many open work items as the operator allows; changing one of them is still possible.',
  },
  too_many_requests: {
    status: 429,
    title: 'Too many requests',
    help: 'The caller, or its address, sends more than the operator allows; wait for Retry-After seconds.',
  },
  headers_too_large: { status: 431, title: 'The headers are too large', help: 'All headers together may have 16 KiB.' },
  internal_error: {
    status: 500,
    title: 'Internal error',
    help: 'A fault of the service; its log has the cause under the request id.',
  },
  busy: { status: 503, title: 'Too much at once', help: 'Send the request again after Retry-After seconds.' },
  database_unavailable: {
    status: 503,
    title: 'The database is not reachable',
    help: 'Nothing was accepted; send the request again after Retry-After seconds.',
  },
  identity_provider_unavailable: {
    status: 503,
    title: 'The token cannot be checked just now',
    help: 'Whoever issued the token cannot be asked, so it was neither accepted nor refused; send it again after Retry-After seconds.',
  },
  unavailable: {
    status: 503,
    title: 'Something the service needs is not reachable',
    help: 'Nothing was accepted; send the request again after Retry-After seconds.',
  },
} as const satisfies Readonly<Record<string, ProblemKind>>

export type ProblemCode = keyof typeof PROBLEMS

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code)
}

export interface ProblemFacts {
  readonly code: ProblemCode
  readonly detail: string
  readonly requestId: string
  readonly path?: string
  readonly findings?: readonly Finding[]
}

/** A caller's own text comes back to it cut to this, if at all. */
const MAX_ECHO = 100

export function problemDocument({ code, detail, requestId, path, findings = [] }: ProblemFacts): Problem {
  const { status, title } = PROBLEMS[code]
  return {
    type: `/docs#${code}`,
    title,
    status,
    detail,
    code,
    ...(path === undefined || path.length > MAX_ECHO ? {} : { instance: path }),
    request_id: requestId,
    findings: [...findings],
  }
}

export function shortened(text: string): string {
  return text.length > MAX_ECHO ? `${text.slice(0, MAX_ECHO)}…` : text
}
