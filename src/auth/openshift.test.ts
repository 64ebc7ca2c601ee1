/** Opaque tokens of OpenShift, against a cluster on this machine that counts its questions and can fail in every way. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock, startAuth, type TestAuth, type TestClock } from '../../test/support/oidc-auth.ts'
import { answers, type Fault, listen, stalled, type TestServer, unreachable } from '../../test/support/oidc-provider.ts'
import { IdentityProviderUnavailable } from './unavailable.ts'

const MINUTE = 60_000
const USERS = '/apis/user.openshift.io/v1/users/~'
const token = (name: string) => `sha256~${name.padEnd(43, '0')}`
const ANN = token('ann')

const status = (code: number, reason: string) => answers(code, { kind: 'Status', apiVersion: 'v1', code, reason })
const user = (name: unknown, groups: unknown = ['release-managers', 'system:authenticated']) =>
  answers(200, { kind: 'User', metadata: { name, uid: '' }, groups })

let clock: TestClock
let cluster: TestServer
let asked: string[]
/** What the cluster answers instead of looking the token up. */
let fault: Fault
let auth: TestAuth

beforeEach(async () => {
  clock = createTestClock()
  asked = []
  fault = null
  cluster = await listen((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization}`)
    const known = request.headers.authorization === `Bearer ${ANN}`
    const answer = fault ?? (known ? user('ann') : status(401, 'Unauthorized'))
    answer?.(response)
  })
  auth = startAuth(config(cluster.url), clock, { timeoutMs: 300 })
})
afterEach(async () => {
  expect(auth.logged.join('\n')).not.toContain('sha256~')
  await cluster.close()
})

function config(apiUrl: string) {
  return {
    rules: [
      { name: 'managers', groups: ['release-managers', 'leads'], permissions: ['read', 'retry'] },
      { name: 'admins', groups: ['system:cluster-admins'], permissions: ['admin'] },
    ],
    openshift: { api_url: apiUrl },
  }
}

describe('a token of OpenShift', () => {
  test("is shown to the cluster, as its owner's own, and gives what the owner's groups give", async () => {
    const result = await auth.authenticate(ANN)
    expect(result.identity).toMatchObject({ name: 'openshift:ann', grants: [{ rule: 'managers' }] })
    expect(asked).toEqual([`${USERS} Bearer ${ANN}`])
  })

  test.each<[string, Fault, string]>([
    ['in no group of a rule', user('bob', ['others']), 'forbidden'],
    ['in a group of another case', user('bob', ['Release-Managers']), 'forbidden'],
    ['in no group', user('bob', null), 'forbidden'],
    ['in groups of two rules', user('bob', ['leads', 'system:cluster-admins']), 'allowed: managers admins'],
    ['whose token the cluster refuses', status(401, 'Unauthorized'), '401: unknown_token'],
    ['whose token may not ask who it is', status(403, 'Forbidden'), '401: unknown_token'],
    ['of a cluster without users', answers(404, '404 page not found'), '401: unknown_token'],
  ])('of somebody %s', async (_title, answer, outcome) => {
    fault = answer
    expect(await auth.outcome(ANN)).toBe(outcome)
  })

  test.each(['sha256~short', `sha256~${'a'.repeat(44)}`, `sha256~${'a'.repeat(42)}.`, `SHA256~${'a'.repeat(43)}`])(
    '%s is none, and the cluster is not asked',
    async (text) => {
      expect(await auth.outcome(text)).toBe('401: malformed')
      expect(asked).toEqual([])
    },
  )

  test('is never asked about when it is a JSON Web Token', async () => {
    const jwt = ['{"alg":"RS256"}', '{"iss":"x"}', 'x'].map((part) => Buffer.from(part).toString('base64url')).join('.')
    expect(await auth.outcome(jwt)).toBe('401: unknown_issuer')
    expect(asked).toEqual([])
  })

  test('is nobody where no rule has groups', async () => {
    const rules = [{ name: 'r', token_sha256: '0'.repeat(64), permissions: ['read'] }]
    const other = startAuth({ rules, openshift: { api_url: cluster.url } }, clock)
    expect(await other.outcome(ANN)).toBe('401: unknown_token')
    expect(asked).toEqual([])
  })

  test.each([
    ['kube:admin', 'openshift:kube:admin'],
    ['Ann Example', 'openshift:Ann%20Example'],
    ['ann`/merge', 'openshift:ann%60/merge'],
    ['аnn', 'openshift:%D0%B0nn'],
  ])('of %j has the name %s', async (name, expected) => {
    fault = user(name)
    expect((await auth.authenticate(ANN)).identity?.name).toBe(expected)
  })
})

describe('the cluster', () => {
  test('is asked once for a hundred requests with one new token', async () => {
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => auth.outcome(ANN)))
    expect(new Set(outcomes)).toEqual(new Set(['allowed: managers']))
    expect(asked).toHaveLength(1)
  })

  test('is asked again after five minutes, so that a withdrawn token ends', async () => {
    await auth.outcome(ANN)
    fault = status(401, 'Unauthorized')
    clock.advance(4 * MINUTE)
    expect(await auth.outcome(ANN)).toBe('allowed: managers')
    clock.advance(2 * MINUTE)
    expect(await auth.outcome(ANN)).toBe('401: unknown_token')
    expect(asked).toHaveLength(2)
  })

  test('is not asked again at once for a token that it refused', async () => {
    const bad = token('bad')
    for (let count = 0; count < 5; count += 1) expect(await auth.outcome(bad)).toBe('401: unknown_token')
    expect(asked).toHaveLength(1)
    clock.advance(21_000)
    await auth.outcome(bad)
    expect(asked).toHaveLength(2)
  })

  test('has at most twenty questions at a time; the others are to come back', async () => {
    fault = stalled
    const outcomes = Array.from({ length: 50 }, (_, n) => auth.outcome(token(`many${n}`)))
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['503']))
    expect(asked).toHaveLength(20)
  })
})

describe('a cluster in trouble', () => {
  test.each<[string, Fault]>([
    ['unreachable', unreachable],
    ['too slow', stalled],
    ['overloaded', answers(429, {}, { 'retry-after': '7' })],
    ['broken', answers(500, {})],
    ['behind a proxy that says 401', answers(401, '<html>')],
    ['behind a proxy that says 403', answers(403, '{}')],
    ['redirecting', answers(302, '', { location: 'http://127.0.0.1:1/' })],
    ['answering a web page', answers(200, '<html>')],
    ['answering null', answers(200, 'null')],
    ['answering something else', answers(200, { kind: 'Group', metadata: { name: 'ann' }, groups: ['leads'] })],
    ['naming nobody', user('')],
    ['naming a number', user(7)],
    ['giving groups as text', user('ann', 'release-managers')],
    ['giving groups that are none', user('ann', [{ name: 'leads' }])],
    ['answering too much', user('ann', [`leads${'x'.repeat(1_100_000)}`])],
  ])('%s lets nobody in and calls no token bad, and is forgotten when it is well', async (_title, answer) => {
    fault = answer
    expect(await auth.outcome(ANN)).toBe('503')
    expect(await auth.outcome(token('bad'))).toBe('503')
    fault = null
    expect(await auth.outcome(ANN)).toBe('allowed: managers')
    expect(await auth.outcome(token('bad'))).toBe('401: unknown_token')
  })

  test('says when to come back, and its error holds no token', async () => {
    fault = answers(429, {}, { 'retry-after': '7' })
    const error: unknown = await auth.authenticate(ANN).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(IdentityProviderUnavailable)
    expect(error).toMatchObject({ retryAfterMs: 7_000 })
    expect(JSON.stringify(error) + String(error)).not.toContain('sha256~')
  })

  test('leaves in those whom it has just named, and for no longer', async () => {
    await auth.outcome(ANN)
    fault = unreachable
    clock.advance(4 * MINUTE)
    expect(await auth.outcome(ANN)).toBe('allowed: managers')
    clock.advance(2 * MINUTE)
    expect(await auth.outcome(ANN)).toBe('503')
  })
})
