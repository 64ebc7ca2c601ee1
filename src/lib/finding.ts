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

/** More help nobody; the rest shows once these are mended. */
export const MAX_FINDINGS = 100
const MAX_IN_SENTENCE = 5

/** The findings in one line, the first of them in words. */
export function summarize(findings: readonly Finding[]): string {
  const said = findings.slice(0, MAX_IN_SENTENCE).map(({ message }) => message)
  const more = findings.length - said.length
  return [...said, ...(more > 0 ? [`And ${more} more.`] : [])].join(' ')
}
