/**
 * What an error means to the caller: a code of the problem table, a sentence, findings, and how long to wait. Errors of
 * ours say it themselves; those of the HTTP framework and of PostgreSQL are told apart by their stable codes. Whatever is
 * left is a fault of ours: the caller learns nothing but that, the log everything.
 */
import { isConnectionError } from '../lib/connection-error.ts'
import { WorkQueueError } from '../lib/errors.ts'
import { type Finding, summarize } from '../lib/finding.ts'
import { SubmissionRejected } from '../queue/work-queue.ts'
import { isProblemCode, type ProblemCode } from './problem.ts'

export interface ClassifiedError {
  readonly code: ProblemCode
  readonly detail: string
  readonly findings?: readonly Finding[]
  readonly retryAfterSeconds?: number
  /** To be logged with its cause: it is a fault of ours or of something we depend on. */
  readonly unexpected?: true
}

/** A request that its schema refused. */
export class RequestRefused extends WorkQueueError {
  readonly findings: readonly Finding[]
  constructor(findings: readonly Finding[]) {
    super('invalid_request', summarize(findings))
    this.findings = findings
  }
}

const DEFAULT_RETRY_AFTER_SECONDS = 5

/** `bodyLimit` is that of the route, in bytes. */
export function classifyError(error: unknown, bodyLimit: number): ClassifiedError {
  if (error instanceof WorkQueueError) return classifyOurs(error)
  const code = codeOf(error)
  if (code.startsWith('FST_')) return classifyFramework(code, error, bodyLimit)
  if (isRequestCutOff(code, error)) {
    return { code: 'invalid_request', detail: 'The connection ended before the whole request had arrived.' }
  }
  if (isConnectionError(error) || code === STATEMENT_TIMEOUT) {
    return {
      code: 'database_unavailable',
      detail: 'The database of the service is not reachable just now. Nothing was accepted; try again later.',
      retryAfterSeconds: DEFAULT_RETRY_AFTER_SECONDS,
      unexpected: true,
    }
  }
  if (/^(22|54)[0-9A-Z]{3}$/.test(code)) {
    return {
      code: 'unstorable_value',
      detail: 'The database refused a text or number of this request. Look for control characters and extreme values.',
      unexpected: true,
    }
  }
  return internalError()
}

function classifyOurs(error: WorkQueueError): ClassifiedError {
  const findings =
    error instanceof SubmissionRejected || error instanceof RequestRefused ? { findings: error.findings } : {}
  if (isProblemCode(error.code)) {
    return { code: error.code, detail: error.message, ...findings, ...waitOf(error) }
  }
  if (error.failure === 'permanent') return internalError()
  return {
    code: 'unavailable',
    detail: 'Something the service needs is not reachable just now. Nothing was accepted; try again later.',
    ...waitOf(error),
    unexpected: true,
  }
}

function waitOf(error: WorkQueueError): { readonly retryAfterSeconds?: number } {
  if (error.failure === 'permanent') return {}
  return {
    retryAfterSeconds:
      error.retryAfterMs === undefined ? DEFAULT_RETRY_AFTER_SECONDS : Math.ceil(error.retryAfterMs / 1_000),
  }
}

function classifyFramework(code: string, error: unknown, bodyLimit: number): ClassifiedError {
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return {
        code: 'payload_too_large',
        detail: `The body is larger than the ${bodyLimit} bytes that this operation takes; split the change.`,
      }
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return {
        code: 'unsupported_media_type',
        detail: 'The body must be JSON; send the header Content-Type: application/json.',
      }
    case 'FST_ERR_BAD_URL':
      return {
        code: 'invalid_request',
        detail: 'The address holds a "%" that is not followed by two hexadecimal digits of UTF-8; write "%" as "%25".',
      }
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return { code: 'uri_too_long', detail: 'A part of the address is too long to be an id.' }
    default:
      return statusOf(error) >= 500
        ? internalError()
        : {
            code: 'invalid_request',
            detail: 'The request is not well-formed HTTP; compare its headers with the body that was sent.',
          }
  }
}

const internalError = (): ClassifiedError => ({
  code: 'internal_error',
  detail: 'The service failed on this request. Report it to its operator with the request id.',
  unexpected: true,
})

/** A statement cut off by its timeout: the database is there, and too slow. */
const STATEMENT_TIMEOUT = '57014'

/** What Node says when a caller hangs up in the middle of a body; the database's resets have other words. */
function isRequestCutOff(code: string, error: unknown): boolean {
  return code === 'ECONNRESET' && error instanceof Error && error.message === 'aborted'
}

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

function statusOf(error: unknown): number {
  const status: unknown = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  return typeof status === 'number' ? status : 500
}
