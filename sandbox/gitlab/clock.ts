/**
 * Time as the sandbox sees it. Everything that happens later (a mergeability check, a job's end, a rebase) is a timer of
 * this clock, so a test can hold time still and let it go in steps. Delays are in milliseconds.
 */

export interface TimerHandle {
  readonly id: number
}

export interface Clock {
  now(): Date
  setTimeout(run: () => void, ms: number): TimerHandle
  clearTimeout(handle: TimerHandle): void
}

/** The machine's own clock; its timers do not keep the process alive. */
export function createRealClock(): Clock {
  const timers = new Map<number, NodeJS.Timeout>()
  let last = 0
  return {
    now: () => new Date(),
    setTimeout(run, ms) {
      const id = ++last
      const timer = setTimeout(() => {
        timers.delete(id)
        run()
      }, ms)
      timer.unref()
      timers.set(id, timer)
      return { id }
    },
    clearTimeout({ id }) {
      clearTimeout(timers.get(id))
      timers.delete(id)
    },
  }
}

/** A clock that stands still until `advance` is called. */
export class ManualClock implements Clock {
  #now: number
  #last = 0
  readonly #timers = new Map<number, { at: number; run: () => void }>()

  constructor(start: Date = new Date('2026-03-02T10:00:00.000Z')) {
    this.#now = start.getTime()
  }

  now(): Date {
    return new Date(this.#now)
  }

  setTimeout(run: () => void, ms: number): TimerHandle {
    const id = ++this.#last
    this.#timers.set(id, { at: this.#now + Math.max(0, ms), run })
    return { id }
  }

  clearTimeout({ id }: TimerHandle): void {
    this.#timers.delete(id)
  }

  /** Lets `ms` pass: due timers run in order, each at its own instant, also those set by an earlier one. */
  advance(ms: number): void {
    const until = this.#now + ms
    for (;;) {
      let next: [number, { at: number; run: () => void }] | undefined
      for (const timer of this.#timers) {
        if (timer[1].at <= until && (!next || timer[1].at < next[1].at)) next = timer
      }
      if (!next) break
      this.#timers.delete(next[0])
      this.#now = Math.max(this.#now, next[1].at)
      next[1].run()
    }
    this.#now = until
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#timers.size
  }
}
