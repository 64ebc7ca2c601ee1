import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mrPolicy, NOON } from '../../../../test/support/mr-item.ts'
import { delayOf, type History, judge, type KnownFailure, MAX_FAILURES } from './judge.ts'
import { createRules, type Matcher } from './matchers.ts'

const NO_HISTORY: History = { retries: [], failures: [] }
const LIMITS = { maxDelayMs: 600_000, breaker: { failures: 5, window: 600_000 } }

const config = mrPolicy({
  herder: {
    matchers: [
      { name: 'flaky', match: { job: 'flaky' }, action: 'retry', max_retries: 2, delay: '1m', budget: 3 },
      { name: 'other', match: { job: 'other' }, action: 'retry', max_retries: 1, delay: '2m' },
      { name: 'known', match: { job: 'known' }, action: 'report', message: 'ask the infrastructure team' },
      { name: 'quiet', match: { job: 'quiet' }, action: 'ignore' },
    ],
  },
})
const [project] = config.projects
const matchers = project === undefined ? [] : createRules(config)(project).matchers

const named = (name: string): Matcher | null => matchers.find((matcher) => matcher.name === name) ?? null
const ago = (ms: number) => new Date(NOON.getTime() - ms)
const inMs = (ms: number) => new Date(NOON.getTime() + ms)

function failure(matcher: string | null, given: Partial<KnownFailure> = {}): KnownFailure {
  return {
    kind: 'job',
    jobId: 1,
    name: 'unit',
    stage: 'test',
    failureReason: 'script_failure',
    isCanceled: false,
    webUrl: '',
    runs: 1,
    failures: 1,
    matcher: matcher === null ? null : named(matcher),
    seenAt: ago(3_600_000),
    ...given,
  }
}

const judged = (failures: readonly KnownFailure[], history: Partial<History> = {}) =>
  judge({ failures, history: { ...NO_HISTORY, ...history }, limits: LIMITS, now: NOON })

describe('what failed is run again', () => {
  test('when every one of them may be', () => {
    const failures = [failure('flaky'), failure('other', { jobId: 2 })]
    expect(judged(failures)).toMatchObject({ retry: failures, waitingUntil: null })
  })

  test.each<[string, KnownFailure]>([
    ['unmatched', failure(null)],
    ['reported', failure('known')],
    ['ignored', failure('quiet')],
    ['exhausted', failure('flaky', { runs: 3 })],
    ['canceled', failure('flaky', { isCanceled: true })],
    ['no_job', failure('flaky', { kind: 'bridge' })],
  ])('but not beside one that is %s', (obstacle, other) => {
    const judgement = judged([failure('flaky'), other])
    expect(judgement).toMatchObject({ retry: [], waitingUntil: null })
    expect([...judgement.obstacles]).toEqual([[other, obstacle]])
  })

  test('but not when more failed than a flake could', () => {
    const failures = Array.from({ length: MAX_FAILURES + 1 }, (_, jobId) => failure('flaky', { jobId }))
    expect(new Set(judged(failures).obstacles.values())).toEqual(new Set(['too_many']))
  })

  test('after a delay that doubles with each run, counted from when it was first seen', () => {
    expect(judged([failure('flaky', { seenAt: null })])).toMatchObject({
      waitingUntil: inMs(60_000),
      waitsFor: 'delay',
    })
    expect(judged([failure('flaky', { seenAt: ago(59_000) })]).waitingUntil).toEqual(inMs(1_000))
    expect(judged([failure('flaky', { seenAt: ago(60_000), runs: 2 })]).waitingUntil).toEqual(inMs(60_000))
    expect(delayOf(failure('flaky', { runs: 30 }), LIMITS.maxDelayMs)).toBe(LIMITS.maxDelayMs)
  })

  test('together, when the last of them may be', () => {
    const failures = [failure('flaky', { seenAt: NOON }), failure('other', { seenAt: NOON, jobId: 2 })]
    expect(judged(failures).waitingUntil).toEqual(inMs(120_000))
  })
})

describe('a budget', () => {
  const made = (count: number, matcher = 'flaky') => ({
    retries: Array.from({ length: count }, (_, index) => ({ matcher, at: ago((index + 1) * 60_000) })),
  })

  test('lets so many through within an hour, and then one when the oldest is an hour old', () => {
    expect(judged([failure('flaky')], made(2)).retry).toHaveLength(1)
    const spent = judged([failure('flaky')], made(3))
    expect(spent).toMatchObject({ retry: [], waitsFor: 'budget', waitingUntil: inMs(3_600_000 - 180_000) })
  })

  test('is that of its matcher alone', () => {
    expect(judged([failure('flaky')], made(3, 'other')).retry).toHaveLength(1)
  })

  test('is no obstacle for good to a pipeline that needs more than the whole of it', () => {
    const failures = Array.from({ length: 4 }, (_, jobId) => failure('flaky', { jobId }))
    expect(judged(failures).retry).toHaveLength(4)
    expect(judged(failures, made(1)).waitingUntil).toEqual(inMs(3_600_000 - 60_000))
  })
})

describe('the breaker', () => {
  const failed = (count: number) => ({
    failures: Array.from({ length: count }, (_, index) => ago(index * 1_000)),
  })

  test('holds everything back while so much fails', () => {
    expect(judged([failure('flaky')], failed(4)).retry).toHaveLength(1)
    expect(judged([failure('flaky')], failed(5))).toMatchObject({
      retry: [],
      waitsFor: 'breaker',
      waitingUntil: inMs(600_000 - 4_000),
    })
  })

  test('counts what was seen only now', () => {
    const failures = [failure('flaky', { seenAt: null })]
    expect(judged(failures, failed(4)).waitsFor).toBe('breaker')
    expect(judged(failures, failed(3)).waitsFor).toBe('delay')
  })
})

describe('the judge as a function', () => {
  const failures = fc.array(
    fc
      .record({
        matcher: fc.constantFrom('flaky', 'other', 'known', 'quiet', null),
        runs: fc.integer({ min: 1, max: 5 }),
        isCanceled: fc.boolean(),
        seen: fc.option(fc.nat(7_200_000), { nil: null }),
      })
      .map(({ matcher, runs, isCanceled, seen }) =>
        failure(matcher, { runs, isCanceled, seenAt: seen === null ? null : ago(seen) }),
      ),
    { maxLength: 6 },
  )
  const histories = fc.record({
    retries: fc
      .array(fc.record({ matcher: fc.constantFrom('flaky', 'other'), at: fc.nat(3_599_999).map(ago) }))
      .map((all) => all.toSorted((a, b) => b.at.getTime() - a.at.getTime())),
    failures: fc.array(fc.nat(599_999).map(ago)).map((all) => all.toSorted((a, b) => b.getTime() - a.getTime())),
  })

  test('runs all of them again or none, and then each within its own limit', () => {
    fc.assert(
      fc.property(failures, histories, (given, history) => {
        const { retry } = judged(given, history)
        expect([0, given.length]).toContain(retry.length)
        for (const one of retry) {
          expect(one.matcher?.action).toBe('retry')
          expect(one.runs).toBeLessThanOrEqual(one.matcher?.maxRetries ?? 0)
          expect(one.isCanceled).toBe(false)
          const spent = history.retries.filter(({ matcher }) => matcher === one.matcher?.name).length
          expect(spent).toBeLessThanOrEqual(one.matcher?.budget ?? 0)
        }
        if (retry.length > 0) expect(history.failures.length).toBeLessThan(LIMITS.breaker.failures)
      }),
    )
  })

  test('always says what comes next: a retry, a time to wait for, or what stands in the way', () => {
    fc.assert(
      fc.property(failures, histories, (given, history) => {
        const { retry, waitingUntil, obstacles } = judged(given, history)
        const answers = [retry.length > 0, waitingUntil !== null, obstacles.size > 0].filter(Boolean)
        expect(answers).toHaveLength(given.length === 0 ? 0 : 1)
        if (waitingUntil === null) return
        expect(waitingUntil > NOON).toBe(true)
        // And when the time has come and nothing else has happened, it does come.
        const then = judge({
          failures: given.map((one) => ({ ...one, seenAt: one.seenAt ?? NOON })),
          history: { retries: [], failures: [] },
          limits: LIMITS,
          now: new Date(waitingUntil.getTime() + 3_600_000),
        })
        expect(then.retry).toHaveLength(given.length)
      }),
    )
  })
})
