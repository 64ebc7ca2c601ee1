import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { CircuitBreaker, type Pass, type Verdict } from './circuit-breaker.ts'

const NOON = Date.parse('2026-03-02T12:00:00Z')

let now: number
let breaker: CircuitBreaker

beforeEach(() => {
  now = NOON
  breaker = new CircuitBreaker({ failures: 3, openForMs: 10_000, maxOpenForMs: 60_000, now: () => now })
})

function enter(): Pass {
  const pass = breaker.enter()
  if (pass === null) throw new Error('the breaker refused')
  return pass
}

function call(...verdicts: readonly Verdict[]): string[] {
  return verdicts.map((verdict) => enter().settle(verdict))
}

function open(): void {
  call('failed', 'failed', 'failed')
}

describe('while closed', () => {
  test('it opens at the n-th failure in a row, and says so once', () => {
    expect(call('failed', 'failed', 'failed')).toEqual(['unchanged', 'unchanged', 'opened'])
    expect(breaker.enter()).toBeNull()
    expect(breaker.view()).toEqual({ state: 'open', until: new Date(NOON + 10_000), remainingMs: 10_000 })
  })

  test('a sign of life starts the count anew, and a call that tells nothing leaves it alone', () => {
    call('failed', 'failed', 'alive', 'failed', 'unknown', 'failed', 'unknown')
    expect(breaker.view()).toEqual({ state: 'closed', until: null, remainingMs: 0 })
    expect(call('failed')).toEqual(['opened'])
  })

  test('one wish for a pause opens it for just that long', () => {
    expect(call({ pauseMs: 7_000 })).toEqual(['opened'])
    now += 6_999
    expect(breaker.enter()).toBeNull()
    now += 1
    expect(breaker.enter()).not.toBeNull()
  })
})

describe('while open', () => {
  test('nothing that began before is a reason to close it or to lengthen it', () => {
    const [first, second] = [enter(), enter()]
    open()
    now += 4_000
    expect(first.settle('failed')).toBe('unchanged')
    expect(second.settle('alive')).toBe('unchanged')
    expect(breaker.view().remainingMs).toBe(6_000)
  })

  test('a wish for a longer pause lengthens it, one for a shorter does not', () => {
    const [first, second] = [enter(), enter()]
    open()
    first.settle({ pauseMs: 1_000 })
    expect(breaker.view().remainingMs).toBe(10_000)
    second.settle({ pauseMs: 30_000 })
    expect(breaker.view().remainingMs).toBe(30_000)
  })
})

describe('once it is time', () => {
  let waitingSinceBefore: Pass

  beforeEach(() => {
    waitingSinceBefore = enter()
    open()
    now += 10_000
  })

  test('one probe goes, and the others are still refused', () => {
    const probe = enter()
    expect(breaker.view().state).toBe('half_open')
    expect(breaker.enter()).toBeNull()
    now += 60_000
    expect(breaker.enter()).toBeNull()
    expect(probe.settle('alive')).toBe('closed')
    expect([breaker.enter(), breaker.enter()]).not.toContain(null)
  })

  test('a probe that its caller gave up makes room for the next', () => {
    expect(call('unknown', 'unknown')).toEqual(['unchanged', 'unchanged'])
    expect(call('alive')).toEqual(['closed'])
  })

  test('each failed probe doubles the time, up to the cap, and a success starts over', () => {
    const waits = [1, 2, 3, 4].map(() => {
      call('failed')
      const { remainingMs } = breaker.view()
      now += remainingMs
      return remainingMs
    })
    expect(waits).toEqual([20_000, 40_000, 60_000, 60_000])
    call('alive')
    open()
    expect(breaker.view().remainingMs).toBe(10_000)
    now += 10_000
    call('failed')
    expect(breaker.view().remainingMs).toBe(20_000)
  })

  test('a pause that another call was asked for meanwhile outlasts the success of the probe', () => {
    const probe = enter()
    waitingSinceBefore.settle({ pauseMs: 5_000 })
    expect(probe.settle('alive')).toBe('unchanged')
    expect(breaker.enter()).toBeNull()
    now += 5_000
    expect(call('alive')).toEqual(['closed'])
  })

  test('a failure from before the outage does not count after it', () => {
    call('alive', 'failed', 'failed')
    expect(waitingSinceBefore.settle('failed')).toBe('unchanged')
    expect(breaker.view().state).toBe('closed')
  })
})

/** One step of a run: begin a call, let one that runs end, or let time pass. */
const step = fc.oneof(
  fc.constant({ kind: 'begin' as const }),
  fc.record({
    kind: fc.constant('end' as const),
    which: fc.nat(),
    verdict: fc.oneof(
      fc.constantFrom<Verdict>('alive', 'failed', 'failed', 'unknown'),
      fc.record({ pauseMs: fc.integer({ min: 1, max: 90_000 }) }),
    ),
  }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 30_000 }) }),
)

test('in any run, nobody enters before the time, probes go one by one, and the way back is never lost', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let clock = NOON
      const any = new CircuitBreaker({ failures: 2, openForMs: 10_000, maxOpenForMs: 60_000, now: () => clock })
      const running: { readonly pass: Pass; readonly probe: boolean }[] = []
      const begin = () => {
        const { state } = any.view()
        const pass = any.enter()
        if (state === 'open') expect(pass).toBeNull()
        if (pass === null) expect(state).not.toBe('closed')
        if (pass !== null) running.push({ pass, probe: state === 'half_open' })
        expect(running.filter(({ probe }) => probe).length).toBeLessThanOrEqual(1)
      }
      for (const move of steps) {
        if (move.kind === 'begin') begin()
        if (move.kind === 'pass') clock += move.ms
        if (move.kind === 'end') running.splice(move.which % (running.length || 1), 1)[0]?.pass.settle(move.verdict)
        expect(any.view().remainingMs).toBeLessThanOrEqual(90_000)
      }
      for (const { pass } of running) pass.settle('unknown')
      clock += any.view().remainingMs
      any.enter()?.settle('alive')
      expect(any.view().state).toBe('closed')
    }),
  )
})
