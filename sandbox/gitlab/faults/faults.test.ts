import { expect, test } from 'vitest'
import { createFaults } from './faults.ts'
import { type FaultRuleInput, matcherOf, readFaultRule } from './rule.ts'

const ANY = { path: '/**' } as const
const never = () => false

/** Which of a number of requests are hit. */
function schedule(rule: FaultRuleInput, requests = 200): boolean[] {
  const faults = createFaults([rule])
  return Array.from({ length: requests }, () => faults.plan('GET', '/x', never).ending !== null)
}

test('a seed repeats its schedule, another seed has another', () => {
  const rule = { ...ANY, kind: 'drop_after', probability: 0.3 } as const
  expect(schedule({ ...rule, seed: 7 })).toEqual(schedule({ ...rule, seed: 7 }))
  expect(schedule({ ...rule, seed: 7 })).not.toEqual(schedule({ ...rule, seed: 8 }))
})

test('a seed that was made up is shown and repeats the schedule', () => {
  const rule = { ...ANY, kind: 'drop_after', probability: 0.5 } as const
  const faults = createFaults([rule])
  const hits = Array.from({ length: 64 }, () => faults.plan('GET', '/x', never).ending !== null)
  expect(schedule({ ...rule, seed: Number(faults.list()[0]?.seed) }, 64)).toEqual(hits)
})

test('the schedule of a rule does not depend on other requests', () => {
  const rule = { path: '/a', kind: 'drop_after', probability: 0.5, seed: 3 } as const
  const faults = createFaults([{ path: '/b', kind: 'drop_before', probability: 0.5, seed: 4 }, rule])
  const hits = Array.from({ length: 200 }, () => {
    faults.plan('GET', '/b', never)
    return faults.plan('GET', '/a', never).ending !== null
  })
  expect(hits).toEqual(schedule({ ...rule, path: '/x' }))
})

test('a probability is met', () => {
  const share = (probability: number) =>
    schedule({ ...ANY, kind: 'drop_before', probability, seed: 1 }, 4_000).filter(Boolean).length / 4_000
  expect(share(0)).toBe(0)
  expect(share(1)).toBe(1)
  expect(share(0.2)).toBeGreaterThan(0.17)
  expect(share(0.2)).toBeLessThan(0.23)
})

test('delays add up and go on to the next rule; of the others the first one counts', () => {
  const faults = createFaults([
    { ...ANY, kind: 'delay', ms: 10 },
    { ...ANY, kind: 'delay', ms: 5, times: 1 },
    { ...ANY, kind: 'drop_before', times: 1 },
    { ...ANY, kind: 'drop_after' },
  ])
  const plans = [faults.plan('GET', '/x', never), faults.plan('GET', '/x', never)]
  expect(plans.map(({ delayMs, ending }) => [delayMs, ending?.kind])).toEqual([
    [15, 'drop_before'],
    [10, 'drop_after'],
  ])
  expect(faults.list().map(({ id, matched, fired }) => [id, matched, fired])).toEqual([
    [1, 2, 2],
    [2, 2, 1],
    [3, 2, 1],
    [4, 1, 1],
  ])
})

test.each<[string, string, string, boolean]>([
  ['a path without wildcards is itself', '/api/v4/user', '/api/v4/user', true],
  ['and nothing longer', '/api/v4/user', '/api/v4/users', false],
  ['a dot is a dot', '/a.b', '/axb', false],
  ['one star is one segment', '/api/v4/projects/*/merge_requests', '/api/v4/projects/a%2Fb/merge_requests', true],
  ['and not several', '/api/v4/projects/*', '/api/v4/projects/1/merge_requests', false],
  ['two stars are everything below', '/api/v4/projects/1/**', '/api/v4/projects/1/repository/commits', true],
  ['an encoded path is the same in either case', '/api/v4/projects/a%2fb', '/api/v4/projects/a%2Fb', true],
])('%s', (_title, path, request, fits) => {
  expect(matcherOf(readFaultRule({ path, kind: 'drop_before' }))('GET', request)).toBe(fits)
})

test('a method restricts a rule', () => {
  const concerns = matcherOf(readFaultRule({ ...ANY, method: 'POST', kind: 'drop_before' }))
  expect([concerns('POST', '/x'), concerns('GET', '/x')]).toEqual([true, false])
})

test.each<[string, unknown]>([
  ['kind', { ...ANY, kind: 'explode' }],
  ['kind', { ...ANY }],
  ['path', { kind: 'drop_before' }],
  ['path', { kind: 'drop_before', path: 'api/v4' }],
  ['method', { ...ANY, kind: 'drop_before', method: 'get' }],
  ['probability', { ...ANY, kind: 'drop_before', probability: 1.5 }],
  ['times', { ...ANY, kind: 'drop_before', times: 0 }],
  ['seed', { ...ANY, kind: 'drop_before', seed: 'monday' }],
  ['status', { ...ANY, kind: 'status' }],
  ['status', { ...ANY, kind: 'status', status: 200 }],
  ['headers.Content-Length', { ...ANY, kind: 'status', status: 500, headers: { 'Content-Length': '3' } }],
  ['headers.x-note', { ...ANY, kind: 'status', status: 500, headers: { 'x-note': 'a\nb' } }],
  ['ms', { ...ANY, kind: 'delay' }],
  ['ms', { ...ANY, kind: 'drop_after', ms: 5 }],
  ['rule', 'drop everything'],
])('a bad rule is refused with the name of its field: %s of %j', (field, rule) => {
  const expected = { statusCode: 400, body: { message: { [field]: [expect.stringMatching(/./)] } } }
  expect(() => readFaultRule(rule)).toThrow(expect.objectContaining(expected))
})
