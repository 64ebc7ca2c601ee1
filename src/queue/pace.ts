/**
 * How many items a process holds at a time. Never fewer than it has workers; more only where actions are so short that the
 * extra ones begin within a moment: then a claim of many costs as little as a claim of one. Where actions are long, an item
 * that waited here for a worker would be kept from an idle process (decision 0061).
 */
export interface Pace {
  /** An action has ended that took so long. */
  took(milliseconds: number): void
  /** Runs an action and takes its time. */
  time<T>(run: () => Promise<T>): Promise<T>
  /** Items to hold at most, if actions go on like the last ones. */
  target(): number
}

/** What is held beyond the workers begins within about this time. */
const AHEAD_MS = 100
const MOST = 500
/** Before so many actions are known, nothing is held ahead. */
const SAMPLE = 20
/** The part of each new action in the average; a slow one is felt at once. */
const SHARE = 1 / SAMPLE

export function createPace(workers: number): Pace {
  let known = 0
  let averageMs = 0

  function took(milliseconds: number): void {
    known += 1
    averageMs += (milliseconds - averageMs) * Math.max(SHARE, 1 / known)
  }

  return {
    took,
    async time(run) {
      const startedAt = performance.now()
      try {
        return await run()
      } finally {
        took(performance.now() - startedAt)
      }
    },
    target() {
      if (known < SAMPLE) return workers
      return Math.max(workers, Math.min(MOST, Math.floor((workers * AHEAD_MS) / averageMs)))
    },
  }
}
