/** The provider itself as the trouble: it rotates its keys, is away, slow, floods, or lies. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock, startAuth, type TestAuth, type TestClock } from '../../test/support/oidc-auth.ts'
import {
  answers,
  type Fault,
  KEYS,
  listen,
  type OidcProvider,
  stalled,
  startOidcProvider,
  unreachable,
} from '../../test/support/oidc-provider.ts'
import { IdentityProviderUnavailable } from './unavailable.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DISCOVERY = '/.well-known/openid-configuration'

let clock: TestClock
let provider: OidcProvider
let auth: TestAuth

beforeEach(async () => {
  clock = createTestClock()
  provider = await startOidcProvider(clock.now)
  const rule = {
    name: 'ci',
    issuer: provider.url,
    claims: { aud: 'workqueue', sub: 'somebody' },
    permissions: ['submit'],
  }
  auth = startAuth({ rules: [rule] }, clock, { timeoutMs: 300 })
})
afterEach(() => provider.close())

const asks = (path = KEYS) => provider.asked.filter((one) => one === path).length
const valid = () => provider.token()
const inventedKey = (kid: string) => provider.token({}, { kid })

test('a hundred tokens at once cost one look at each document', async () => {
  const token = await valid()
  const outcomes = await Promise.all(Array.from({ length: 100 }, () => auth.outcome(token)))
  expect(new Set(outcomes)).toEqual(new Set(['allowed: ci']))
  expect(provider.asked).toEqual([DISCOVERY, KEYS])
})

describe('keys', () => {
  test('that are new are found by the first token that names one', async () => {
    expect(await auth.outcome(await valid())).toBe('allowed: ci')
    await provider.issuer.keys.generate('RS256', { kid: 'second' })
    const token = await provider.issuer.buildToken({
      kid: 'second',
      scopesOrTransform: (_header, payload) => {
        const seconds = clock.now().getTime() / 1_000
        Object.assign(payload, { iat: seconds, nbf: seconds, exp: seconds + 600, sub: 'somebody', aud: 'workqueue' })
      },
    })
    clock.advance(31_000)
    expect(await auth.outcome(token)).toBe('allowed: ci')
    expect(asks()).toBe(2)
  })

  test('that are withdrawn stop counting within ten minutes', async () => {
    await auth.outcome(await valid())
    provider.faults.keys = answers(200, { keys: [{ kty: 'RSA', kid: 'new', alg: 'RS256', n: 'AQAB', e: 'AQAB' }] })
    clock.advance(10 * MINUTE)
    expect(await auth.outcome(await valid())).toBe('401: bad_signature')
  })

  test('that nobody has cost the provider one question in half a minute, however many are named', async () => {
    await auth.outcome(await valid())
    clock.advance(31_000)
    const flood = await Promise.all(
      Array.from({ length: 50 }, async (_, n) => auth.outcome(await inventedKey(`x${n}`))),
    )
    for (let n = 0; n < 20; n += 1) flood.push(await auth.outcome(await inventedKey(`y${n}`)))
    expect(new Set(flood)).toEqual(new Set(['401: bad_signature']))
    expect(asks()).toBe(2)
  })

  test('of which two have one name are no key', async () => {
    const [key] = provider.issuer.keys.toJSON()
    provider.faults.keys = answers(200, { keys: [key, key] })
    expect(await auth.outcome(await valid())).toBe('401: bad_signature')
  })

  test('that are secrets, or too short, verify nothing', async () => {
    const [key] = provider.issuer.keys.toJSON(true)
    for (const bad of [key, { kty: 'oct', kid: 'first', k: 'c2VjcmV0' }, { ...key, d: undefined, n: 'AQAB' }]) {
      const other = startAuth(
        {
          rules: [{ name: 'ci', issuer: provider.url, claims: { aud: 'workqueue', sub: 'x' }, permissions: ['read'] }],
        },
        clock,
      )
      provider.faults.keys = answers(200, { keys: [bad] })
      expect(await other.outcome(await valid())).toBe('401: bad_signature')
    }
  })
})

describe('a provider that is away', () => {
  test.each(['discovery', 'keys'] as const)(
    'from the start (%s) is a 503, and is asked again after a pause',
    async (document) => {
      provider.faults[document] = unreachable
      for (let count = 0; count < 20; count += 1) expect(await auth.outcome(await valid())).toBe('503')
      expect(provider.asked).toHaveLength(document === 'discovery' ? 1 : 2)
      provider.faults[document] = null
      expect(await auth.outcome(await valid())).toBe('503')
      clock.advance(5_000)
      expect(await auth.outcome(await valid())).toBe('allowed: ci')
    },
  )

  test('says when to come back, and nothing about the token', async () => {
    provider.faults.keys = unreachable
    const token = await valid()
    const error: unknown = await auth.authenticate(token).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(IdentityProviderUnavailable)
    expect(error).toMatchObject({ code: 'identity_provider_unavailable', failure: 'transient', retryAfterMs: 5_000 })
    expect(JSON.stringify(error) + String(error) + auth.logged.join()).not.toContain(token.split('.')[2])
  })

  test('leaves the keys that are known in use for a day, and not longer', async () => {
    await auth.outcome(await valid())
    provider.faults.keys = unreachable
    clock.advance(23 * HOUR)
    expect(await auth.outcome(await valid())).toBe('allowed: ci')
    expect(await auth.outcome(await provider.token({ sub: 'else' }))).toBe('forbidden')
    expect(auth.logged.join('\n')).toContain('could not be fetched')
    clock.advance(HOUR)
    expect(await auth.outcome(await valid())).toBe('503')
  })

  test('makes an unknown key no bad token: it may be a new one', async () => {
    await auth.outcome(await valid())
    provider.faults.keys = unreachable
    clock.advance(31_000)
    for (let n = 0; n < 20; n += 1) expect(await auth.outcome(await inventedKey(`x${n}`))).toBe('503')
    expect(asks()).toBe(2)
    expect(await auth.outcome(await valid())).toBe('allowed: ci')
  })

  test('changes nothing for tokens that are bad by themselves', async () => {
    provider.faults.discovery = unreachable
    const unsigned = (await valid()).replace(/^[^.]+/, Buffer.from('{"alg":"none"}').toString('base64url'))
    expect(await auth.outcome(unsigned)).toBe('401: algorithm_not_allowed')
    expect(await auth.outcome(await provider.token({ iss: 'https://elsewhere.example' }))).toBe('401: unknown_issuer')
    expect(provider.asked).toEqual([])
  })
})

describe('a provider that answers nonsense', () => {
  const elsewhere = 'http://127.0.0.1:1'
  test.each<[string, 'discovery' | 'keys', () => Fault]>([
    ['too slowly', 'keys', () => stalled],
    ['too slowly to be discovered', 'discovery', () => stalled],
    ['500', 'keys', () => answers(500, {})],
    ['401', 'keys', () => answers(401, {})],
    ['404', 'discovery', () => answers(404, {})],
    ['a web page', 'keys', () => answers(200, '<html>')],
    ['a web page for discovery', 'discovery', () => answers(200, '<html>')],
    ['no keys', 'keys', () => answers(200, { keys: [] })],
    ['keys that are none', 'keys', () => answers(200, { keys: 'all' })],
    ['null', 'keys', () => answers(200, 'null')],
    ['two megabytes', 'keys', () => answers(200, { keys: provider.issuer.keys.toJSON(), pad: 'x'.repeat(2_000_000) })],
    [
      'with the name of another issuer',
      'discovery',
      () => answers(200, { issuer: elsewhere, jwks_uri: `${provider.url}${KEYS}` }),
    ],
    [
      'with its name and a slash',
      'discovery',
      () => answers(200, { issuer: `${provider.url}/`, jwks_uri: `${provider.url}${KEYS}` }),
    ],
    ['with no address of keys', 'discovery', () => answers(200, { issuer: provider.url })],
    [
      'with keys over http',
      'discovery',
      () => answers(200, { issuer: provider.url, jwks_uri: 'http://keys.example/' }),
    ],
    ['with keys in a file', 'discovery', () => answers(200, { issuer: provider.url, jwks_uri: 'file:///etc/passwd' })],
  ])('%s, is a 503', async (_title, document, fault) => {
    provider.faults[document] = fault()
    expect(await auth.outcome(await valid())).toBe('503')
    provider.faults[document] = null
    clock.advance(5_000)
    expect(await auth.outcome(await valid())).toBe('allowed: ci')
    provider.faults[document] = fault()
    clock.advance(11 * MINUTE)
    expect(await auth.outcome(await valid())).toBe('allowed: ci')
  })

  test('is not followed to where it redirects', async () => {
    const visits: string[] = []
    const trap = await listen((request, response) => {
      visits.push(request.url ?? '')
      response.end(JSON.stringify({ keys: provider.issuer.keys.toJSON() }))
    })
    for (const status of [301, 302, 307, 308]) {
      provider.faults.keys = answers(status, '', { location: `${trap.url}/keys` })
      expect(await auth.outcome(await valid())).toBe('503')
      clock.advance(5_000)
    }
    expect(visits).toEqual([])
    await trap.close()
  })
})

test('keys that have moved are found at their new place', async () => {
  await auth.outcome(await valid())
  provider.faults.keys = answers(404, {})
  const moved = await listen((_request, response) =>
    response.end(JSON.stringify({ keys: provider.issuer.keys.toJSON() })),
  )
  provider.faults.discovery = answers(200, { issuer: provider.url, jwks_uri: `${moved.url}/new?version=2` })
  clock.advance(25 * HOUR)
  expect(await auth.outcome(await valid())).toBe('allowed: ci')
  await moved.close()
})
