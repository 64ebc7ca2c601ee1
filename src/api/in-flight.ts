/**
 * How much may be under way at a time: so many requests, and so many bytes of their bodies. What does not fit is refused at
 * once. Whoever waits for a busy service occupies it further, and hears the same in the end.
 */
export interface InFlightLimits {
  readonly requests: number
  readonly bytes: number
}

export interface InFlight {
  /** null: there is no room. */
  enter(bytes: number): Place | null
}

/** Is given back once it was left as often as it was held; entering holds it once. */
export interface Place {
  hold(): void
  leave(): void
}

export function createInFlight(limits: InFlightLimits): InFlight {
  let requests = 0
  let bytes = 0
  return {
    enter(size) {
      // One alone always fits: a limit must not shut anything out for good.
      if (requests > 0 && (requests >= limits.requests || bytes + size > limits.bytes)) return null
      requests += 1
      bytes += size
      let holders = 1
      return {
        hold() {
          holders += 1
        },
        leave() {
          holders -= 1
          if (holders !== 0) return
          requests -= 1
          bytes -= size
        },
      }
    },
  }
}
