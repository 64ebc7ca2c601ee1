/**
 * The error model of the whole service. Every error of ours extends WorkQueueError and carries a `code` that never
 * changes, so that callers switch on it, and says whether the same call may work later: the queue reads `failure` and
 * needs to know nothing else about GitLab or any other outside system. Messages are written for the person who reads
 * them: they name the thing, what was tried, and what to do next. They never hold a token or file content.
 */

/**
 * transient: the outside world was not available (network, timeout, 429, 5xx); waiting helps, no attempt is spent.
 * permanent: the same call will fail again (validation, missing project, no right); it spends an attempt.
 */
export type FailureClass = 'transient' | 'permanent'

export interface WorkQueueErrorOptions {
  readonly cause?: unknown
  readonly failure?: FailureClass
  /** How long the other side asked us to wait, in milliseconds (Retry-After). */
  readonly retryAfterMs?: number
  /** Facts for programs; snake_case keys, no secrets, no contents. */
  readonly facts?: Readonly<Record<string, unknown>>
}

export class WorkQueueError extends Error {
  readonly code: string
  readonly failure: FailureClass
  readonly retryAfterMs: number | undefined
  readonly facts: Readonly<Record<string, unknown>>

  constructor(code: string, message: string, options: WorkQueueErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.code = code
    this.failure = options.failure ?? 'permanent'
    this.retryAfterMs = options.retryAfterMs
    this.facts = options.facts ?? {}
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
