/**
 * How long to wait after a failure: exponential, capped, with full jitter, so that a thousand items that failed together
 * do not come back together. A short floor keeps every one of them from coming back at once.
 */
export interface BackoffOptions {
  readonly baseMs: number
  readonly maxMs: number
}

/** The least wait, as a part of the base. */
const FLOOR = 0.1
/** Over how much longer than a Retry-After the returns are spread, as a part of it: the longer a wait, the more gather. */
const SPREAD = 0.25

/** Milliseconds to wait after the n-th failure in a row (from 1). `random` is in [0, 1). */
export function backoffMs(failures: number, options: BackoffOptions, random: () => number): number {
  return jitteredMs(ceilingMs(failures, options), options, random)
}

/**
 * The same where the other side may have said how long to wait (Retry-After). It says so to everybody alike, so the
 * jitter comes on top of it: nobody returns before that instant, and few at it.
 */
export function retryInMs(
  failures: number,
  retryAfterMs: number | undefined,
  options: BackoffOptions,
  random: () => number,
): number {
  const askedMs = Math.ceil(retryAfterMs ?? 0)
  const spreadMs = Math.min(options.maxMs, Math.max(ceilingMs(failures, options), askedMs * SPREAD))
  return askedMs + jitteredMs(spreadMs, options, random)
}

function ceilingMs(failures: number, { baseMs, maxMs }: BackoffOptions): number {
  // 2^30 is far beyond any cap; more would only lose precision.
  return Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, 30))
}

/** Even between the floor and the ceiling: cut off at the floor instead, a tenth of the first retries would share it. */
function jitteredMs(ceiling: number, { baseMs }: BackoffOptions, random: () => number): number {
  const floor = Math.min(ceiling, baseMs * FLOOR)
  return Math.ceil(floor + random() * (ceiling - floor))
}
