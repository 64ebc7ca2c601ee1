const UNIQUE_VIOLATION = '23505'

/** Did a partial unique index refuse this? Then somebody else was first, and the caller reads again. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION
}
