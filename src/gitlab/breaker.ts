/**
 * GitLab's circuit breaker: every request passes here, and while GitLab is away none reaches it but one probe at a time.
 * Here it is said which outcomes speak against the host. An answer to this one call, even a refusal, shows it alive; no
 * answer, 5xx or 429 shows it failing; Retry-After holds for everybody; a call that its own caller gave up shows nothing.
 */
import { CircuitBreaker, type BreakerView as HostState, type Pass, type Verdict } from '../lib/circuit-breaker.ts'
import { messageOf } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { BreakerSettings } from './config.ts'
import { GitLabError, leftAloneError } from './errors.ts'

/** One outside host, for the admin's view. */
export interface BreakerView extends Pick<HostState, 'state' | 'until'> {
  readonly host: string
}

export interface Breaker {
  /** Makes the call, or refuses before it begins. @throws GitLabError `gitlab_unavailable` with the time that is left. */
  guard<T>(call: () => Promise<T>): Promise<T>
  view(): BreakerView
}

/** `now` as in CircuitBreakerOptions. */
export function createBreaker(host: string, settings: BreakerSettings, log: Log, now = steadyNow): Breaker {
  const { failures, open_for: openForMs, max_open_for: maxOpenForMs } = settings
  const breaker = new CircuitBreaker({ failures, openForMs, maxOpenForMs, now })

  function settle(pass: Pass, verdict: Verdict, error: string): void {
    const change = pass.settle(verdict)
    if (change === 'closed') log.info({ host }, 'GitLab answers again')
    if (change === 'opened') log.warn({ host, until: breaker.view().until, error }, 'GitLab is left alone for a while')
  }

  return {
    async guard(call) {
      const pass = breaker.enter()
      if (pass === null) {
        const { until, remainingMs } = breaker.view()
        throw leftAloneError(host, remainingMs > 0 ? until : null, remainingMs)
      }
      try {
        const answer = await call()
        settle(pass, 'alive', '')
        return answer
      } catch (error) {
        settle(pass, verdictOn(error), messageOf(error))
        throw error
      }
    },
    view() {
      const { state, until } = breaker.view()
      return { host, state, until }
    },
  }
}

function verdictOn(error: unknown): Verdict {
  // Not of the call at all, so it tells nothing of the host.
  if (!(error instanceof GitLabError) || error.code === 'gitlab_aborted') return 'unknown'
  const { code, status, retryAfterMs = 0 } = error
  // An answer came; that it cannot be read is between this call and GitLab.
  if (code === 'gitlab_unexpected_answer') return 'alive'
  const refusesAll = status === null || status === 408 || status === 429 || status >= 500
  if (!refusesAll) return 'alive'
  return retryAfterMs > 0 ? { pauseMs: retryAfterMs } : 'failed'
}

/** An instant that only goes forward: setting the machine's clock back must not lengthen an outage. */
function steadyNow(): number {
  return performance.timeOrigin + performance.now()
}
