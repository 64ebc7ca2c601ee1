/**
 * A circuit breaker for one outside host. After enough failures in a row it opens: nobody calls the host any more until a
 * time that grows with every vain look. Then one call at a time goes as a probe, and the first that finds the host alive
 * closes the breaker for all. It holds a clock and no timers: what is due is found by whoever comes next. It knows no
 * protocol; the room that calls says what became of a call. Decision 0060.
 */
export interface CircuitBreakerOptions {
  /** Failures in a row that open it. */
  readonly failures: number
  /** How long it stays open at first; twice as long after each probe that failed. */
  readonly openForMs: number
  readonly maxOpenForMs: number
  /** Milliseconds since the epoch, from a clock that nobody sets back. */
  readonly now: () => number
}

/** What a call told of the host. `unknown`: nothing. `pauseMs`: the host wants to be left alone, by everybody. */
export type Verdict = 'alive' | 'failed' | 'unknown' | { readonly pauseMs: number }

/** The right to make one call. Whoever got it must settle it, once, whatever came of the call. */
export interface Pass {
  settle(verdict: Verdict): 'opened' | 'closed' | 'unchanged'
}

export interface BreakerView {
  /** `half_open`: a probe may go, or is under way. */
  readonly state: 'closed' | 'open' | 'half_open'
  /** When the next probe may go or could have gone; null while closed. */
  readonly until: Date | null
  /** From now till then. */
  readonly remainingMs: number
}

export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions
  #failures = 0
  /** When the next probe may go; null while closed. */
  #until: number | null = null
  #failedProbes = 0
  #probing = false
  /** Counts the closings, so that a call from before an outage says nothing about the time after it. */
  #era = 0

  constructor(options: CircuitBreakerOptions) {
    this.#options = options
  }

  /** null: the host must not be called now; `view` says until when. */
  enter(): Pass | null {
    const { state } = this.view()
    if (state === 'open' || this.#probing) return null
    if (state === 'half_open') {
      this.#probing = true
      return { settle: (verdict) => this.#settleProbe(verdict) }
    }
    const era = this.#era
    return { settle: (verdict) => this.#settleCall(verdict, era) }
  }

  view(): BreakerView {
    if (this.#until === null) return { state: 'closed', until: null, remainingMs: 0 }
    const remainingMs = Math.max(0, Math.ceil(this.#until - this.#options.now()))
    const state = remainingMs > 0 ? 'open' : 'half_open'
    return { state, until: new Date(this.#until), remainingMs }
  }

  #settleCall(verdict: Verdict, era: number): ReturnType<Pass['settle']> {
    // However old the call is, the wish of the host is of this moment.
    if (typeof verdict === 'object') return this.#openFor(verdict.pauseMs)
    if (this.#until !== null || era !== this.#era) return 'unchanged'
    if (verdict === 'alive') this.#failures = 0
    if (verdict === 'failed') this.#failures += 1
    return this.#failures < this.#options.failures ? 'unchanged' : this.#openFor(this.#options.openForMs)
  }

  #settleProbe(verdict: Verdict): ReturnType<Pass['settle']> {
    this.#probing = false
    if (typeof verdict === 'object') return this.#openFor(verdict.pauseMs)
    // A late answer to another call may have asked for a pause meanwhile; it outlasts this probe's success.
    if (verdict === 'alive' && this.view().state === 'half_open') return this.#close()
    if (verdict === 'failed') {
      this.#failedProbes += 1
      const { openForMs, maxOpenForMs } = this.#options
      return this.#openFor(Math.min(maxOpenForMs, openForMs * 2 ** Math.min(this.#failedProbes, 30)))
    }
    return 'unchanged'
  }

  #openFor(waitMs: number): 'opened' | 'unchanged' {
    const wasClosed = this.#until === null
    this.#until = Math.max(this.#until ?? 0, this.#options.now() + waitMs)
    return wasClosed ? 'opened' : 'unchanged'
  }

  #close(): 'closed' {
    this.#until = null
    this.#failures = 0
    this.#failedProbes = 0
    this.#era += 1
    return 'closed'
  }
}
