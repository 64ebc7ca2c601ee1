/**
 * How many items a process holds at a time. Never fewer than it has workers; more only where actions are so short that the
 * extra ones begin within a moment: then a claim of many costs as little as a claim of one. Where actions are long, an item
 * that waited here for a worker would be kept from an idle process (decision 0061).
 */
export interface Pace {
  /** An action has ended. */
  ended(): void
  /** Items to hold at most, at the pace of the last actions. */
  target(): number
}

/** What is held beyond the workers begins within about this time. */
const AHEAD_MS = 100
const MOST = 500
/** Over so many actions the pace is taken; before there are as many, nothing is held ahead. */
const SAMPLE = 32

export function createPace(workers: number, now: () => number = () => performance.now()): Pace {
  const ends: number[] = []
  let next = 0
  return {
    ended() {
      ends[next] = now()
      next = (next + 1) % SAMPLE
    },
    target() {
      // The oldest of the sample is the next to be overwritten.
      const oldest = ends.length < SAMPLE ? undefined : ends[next]
      if (oldest === undefined) return workers
      const perMs = SAMPLE / Math.max(1, now() - oldest)
      return Math.max(workers, Math.min(MOST, Math.floor(perMs * AHEAD_MS)))
    },
  }
}
