/**
 * A finding: one thing that is wrong with what somebody sent. Checks collect findings and return them all at once, so
 * that a caller mends a submission in one round.
 */
export interface Finding {
  /** Stable, snake_case: `path_blocked`, `required`, … */
  readonly code: string
  /** JSON pointer into the submission, `''` for the whole of it: `/file_actions/0/file_path`. */
  readonly path: string
  /** One sentence: what is wrong and what to do. */
  readonly message: string
}
