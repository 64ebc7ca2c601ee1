/**
 * How long to wait after a failure: exponential, capped, with jitter over the upper half, so that a thousand items that
 * failed together do not come back together, and none comes back at once.
 */
export interface BackoffOptions {
  readonly baseMs: number
  readonly maxMs: number
}

/** Milliseconds to wait after the n-th failure in a row (from 1). `random` is in [0, 1). */
export function backoffMs(failures: number, { baseMs, maxMs }: BackoffOptions, random: () => number): number {
  // 2^30 is far beyond any cap; more would only lose precision.
  const ceiling = Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, 30))
  return Math.round(ceiling / 2 + (random() * ceiling) / 2)
}
