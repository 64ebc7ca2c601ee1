/** Tokens that try to be what they are not, against a real provider; each with the one right answer. */
import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock, startAuth, type TestAuth } from '../../test/support/oidc-auth.ts'
import { forge, hs256, privateKeyOf, rs256, type Signer } from '../../test/support/oidc-forgery.ts'
import { KEYS, listen, type OidcProvider, startOidcProvider } from '../../test/support/oidc-provider.ts'

const clock = createTestClock()
const NOW = clock.now().getTime() / 1_000
const stranger = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' })

let ours: OidcProvider
let other: OidcProvider
let auth: TestAuth
let good: Signer

beforeAll(async () => {
  ours = await startOidcProvider(clock.now)
  other = await startOidcProvider(clock.now, 'of-the-other')
  await ours.issuer.keys.generate('ES256', { kid: 'curve' })
  good = rs256(privateKeyOf(ours.issuer, 'first'))
})
afterAll(() => Promise.all([ours.close(), other.close()]))

beforeEach(() => {
  const permissions = ['submit']
  auth = startAuth(
    {
      rules: [
        { name: 'ours', issuer: ours.url, claims: { aud: 'workqueue', project_id: '42' }, permissions },
        { name: 'theirs', issuer: other.url, claims: { aud: 'workqueue', project_id: '7' }, permissions: ['admin'] },
      ],
    },
    clock,
  )
})
afterEach(() => {
  // What a test sends must never be found in what is logged.
  expect(auth.logged.join('\n')).not.toMatch(/eyJ/)
  ours.asked.length = 0
})

const HEADER = { alg: 'RS256', kid: 'first', typ: 'JWT' }
const claims = (changes: object = {}) => ({
  ...{ iss: ours.url, sub: 'project_path:a/b', aud: 'workqueue', project_id: '42' },
  ...{ iat: NOW, nbf: NOW, exp: NOW + 600, ...changes },
})
const header = (changes: object = {}) => ({ ...HEADER, ...changes })
/** The claims as text, with something written into the object as it is. */
const withText = (text: string, changes: object = {}) => JSON.stringify(claims(changes)).replace(/^\{/, `{${text},`)

describe('a token of the provider', () => {
  test('opens what its rule gives, under a name that its owner cannot choose', async () => {
    const result = await auth.authenticate(await ours.token({ project_id: 42, sub: 'project_path:a/b:ref:main' }))
    const host = ours.url.replace('http://', '').replace(':', '-')
    expect(result.identity).toMatchObject({ name: `jwt:${host}:project_path:a/b:ref:main`, grants: [{ rule: 'ours' }] })
  })

  test.each<[string, object, string]>([
    ['with our audience among others', { aud: ['elsewhere', 'workqueue'] }, 'allowed: ours'],
    ['with our audience in another case', { aud: 'WorkQueue' }, 'allowed: ours'],
    ['without typ', { typ: undefined }, 'allowed: ours'],
    ['with a long claim', { x: 'a'.repeat(5_500) }, 'allowed: ours'],
    ['for another audience', { aud: 'elsewhere' }, '401: foreign_audience'],
    ['of a project without a rule', { project_id: '43' }, 'forbidden'],
    ['of a project of the other issuer', { project_id: '7' }, 'forbidden'],
    ['without the claim', { project_id: undefined }, 'forbidden'],
    ['issued 29 s in the future', { iat: NOW + 29, nbf: NOW + 29 }, 'allowed: ours'],
    ['expired 29 s ago', { iat: NOW - 600, exp: NOW - 29 }, 'allowed: ours'],
  ])('%s is answered %s', async (_title, changes, answer) => {
    expect(await auth.outcome(forge(header(), claims(changes), good))).toBe(answer)
  })
})

test('a rule gives nothing from the moment on at which it expires', async () => {
  const rule = { issuer: ours.url, claims: { aud: 'workqueue', project_id: '42' }, permissions: ['read'] }
  const rules = [
    { ...rule, name: 'over', expires_at: clock.now().toISOString() },
    { ...rule, name: 'soon', expires_at: new Date(clock.now().getTime() + 1).toISOString() },
  ]
  expect(await startAuth({ rules }, clock).outcome(forge(header(), claims(), good))).toBe('allowed: soon')
  expect(await startAuth({ rules: rules.slice(0, 1) }, clock).outcome(forge(header(), claims(), good))).toBe(
    'forbidden',
  )
})

const pem = () => createPublicKey(privateKeyOf(ours.issuer, 'first')).export({ format: 'pem', type: 'spki' }).toString()
const none: Signer = () => Buffer.from('')
const pss: Signer = (input) =>
  sign('RSA-SHA256', Buffer.from(input), { key: privateKeyOf(ours.issuer, 'first'), padding: 6, saltLength: 32 })
const es: Signer = (input) =>
  sign('SHA256', Buffer.from(input), { key: privateKeyOf(ours.issuer, 'curve'), dsaEncoding: 'ieee-p1363' })
const ofStranger = rs256(stranger.privateKey)
const jwkOfStranger = stranger.publicKey.export({ format: 'jwk' })

describe('the signature', () => {
  test.each<[string, () => string, string]>([
    ['by a stranger under our key name', () => forge(header(), claims(), ofStranger), '401: bad_signature'],
    ['missing', () => forge(header(), claims(), none), '401: malformed'],
    ['missing, with two parts', () => forge(header(), claims(), none).slice(0, -1), '401: malformed'],
    ['none', () => `${forge(header({ alg: 'none' }), claims(), none)}AA`, '401: algorithm_not_allowed'],
    ['nOnE', () => `${forge(header({ alg: 'nOnE' }), claims(), none)}AA`, '401: algorithm_not_allowed'],
    ['of no algorithm', () => forge(header({ alg: undefined }), claims(), good), '401: malformed'],
    ['of __proto__', () => forge('{"alg":"__proto__"}', claims(), good), '401: algorithm_not_allowed'],
    ['of constructor', () => forge(header({ alg: 'constructor' }), claims(), good), '401: algorithm_not_allowed'],
    ['of a list', () => forge(header({ alg: ['RS256'] }), claims(), good), '401: malformed'],
    [
      'HS256 with our public key',
      () => forge(header({ alg: 'HS256' }), claims(), hs256(pem())),
      '401: algorithm_not_allowed',
    ],
    ['RS256 in name, HMAC in fact', () => forge(header(), claims(), hs256(pem())), '401: bad_signature'],
    ['PS256 with an RS256 key', () => forge(header({ alg: 'PS256' }), claims(), pss), '401: algorithm_not_allowed'],
    ['RS256 in name, PSS in fact', () => forge(header(), claims(), pss), '401: bad_signature'],
    ['ES256 under the name of an RSA key', () => forge(header({ alg: 'ES256' }), claims(), es), '401: bad_signature'],
    ['RS256 under the name of a curve', () => forge(header({ kid: 'curve' }), claims(), good), '401: bad_signature'],
    [
      'of an empty ES256 signature of zeros',
      () => forge(header({ alg: 'ES256', kid: 'curve' }), claims(), () => Buffer.alloc(64)),
      '401: bad_signature',
    ],
    [
      'by our provider, of other claims',
      () => {
        const [head, , signature] = forge(header(), claims({ project_id: '1' }), good).split('.')
        return [head, forge({}, claims(), good).split('.')[1], signature].join('.')
      },
      '401: bad_signature',
    ],
    [
      'by the key of the other issuer',
      () => forge(header(), claims(), rs256(privateKeyOf(other.issuer, 'of-the-other'))),
      '401: bad_signature',
    ],
  ])('%s', async (_title, token, answer) => {
    expect(await auth.outcome(token())).toBe(answer)
  })

  test('by our curve, which the issuer publishes and the rules allow, is good', async () => {
    expect(await auth.outcome(forge(header({ alg: 'ES256', kid: 'curve' }), claims(), es))).toBe('allowed: ours')
  })

  test('is good only with the algorithms that the configuration leaves an issuer', async () => {
    const rule = { name: 'r', issuer: ours.url, claims: { aud: 'workqueue', project_id: '42' }, permissions: ['read'] }
    const narrow = startAuth({ rules: [rule], issuers: [{ issuer: ours.url, algorithms: ['ES256'] }] }, clock)
    expect(await narrow.outcome(forge(header(), claims(), good))).toBe('401: algorithm_not_allowed')
    expect(await narrow.outcome(forge(header({ alg: 'ES256', kid: 'curve' }), claims(), es))).toBe('allowed: r')
  })
})

describe('a header', () => {
  test.each(['jwk', 'x5c'])('that brings its own key (%s) is not believed', async (name) => {
    const brought = name === 'jwk' ? { jwk: jwkOfStranger } : { x5c: ['MIIB'] }
    expect(await auth.outcome(forge(header(brought), claims(), ofStranger))).toBe('401: bad_signature')
  })

  test('that says where its key is (jku, x5u) makes nobody look there', async () => {
    const visits: string[] = []
    const trap = await listen((request, response) => {
      visits.push(request.url ?? '')
      response.end(JSON.stringify({ keys: [{ ...jwkOfStranger, kid: 'first' }] }))
    })
    const lure = { jku: `${trap.url}/keys`, x5u: `${trap.url}/chain` }
    expect(await auth.outcome(forge(header(lure), claims(), ofStranger))).toBe('401: bad_signature')
    expect(await auth.outcome(forge(header(lure), claims(), good))).toBe('allowed: ours')
    expect(visits).toEqual([])
    await trap.close()
  })

  test.each<[string, unknown, string]>([
    ['a path', '../../../dev/null', '401: bad_signature'],
    ['SQL', "first' OR '1'='1", '401: bad_signature'],
    ['__proto__', '__proto__', '401: bad_signature'],
    ['an address', 'https://evil.example/key', '401: bad_signature'],
    ['empty', '', '401: bad_signature'],
    ['a number', 1, '401: malformed'],
    ['null', null, '401: malformed'],
    ['a list', ['first'], '401: malformed'],
    ['very long', 'k'.repeat(1_000), '401: malformed'],
  ])('whose kid is %s', async (_title, kid, answer) => {
    expect(await auth.outcome(forge(header({ kid }), claims(), ofStranger))).toBe(answer)
  })

  test.each<[string, object]>([
    ['crit: b64', { crit: ['b64'], b64: true }],
    ['crit: unknown', { crit: ['exp'], exp: 1 }],
    ['crit: empty', { crit: [] }],
    ['b64: false', { b64: false }],
    ['zip', { zip: 'DEF' }],
    ['typ: at+jwt', { typ: 'at+jwt' }],
    ['typ: logout+jwt', { typ: 'logout+jwt' }],
    ['typ: a number', { typ: 1 }],
  ])('with %s is refused, however well it is signed', async (_title, extra) => {
    expect(await auth.outcome(forge(header(extra), claims(), good))).toBe('401: malformed')
  })
})

describe('the issuer', () => {
  test.each<[string, () => unknown]>([
    ['with a slash more', () => `${ours.url}/`],
    ['in capitals', () => ours.url.toUpperCase()],
    ['with a blank', () => `${ours.url} `],
    ['with a path', () => `${ours.url}/evil`],
    ['with a user', () => ours.url.replace('//', '//x@')],
    ['over https', () => ours.url.replace('http:', 'https:')],
    ['written with another digit', () => ours.url.replace('127', '１27')],
    ['of the cluster', () => 'k8s'],
    ['of legacy service accounts', () => 'kubernetes/serviceaccount'],
    ['that is a name of every object', () => '__proto__'],
  ])('%s is nobody that we know, and nobody is asked', async (_title, iss) => {
    expect(await auth.outcome(forge(header(), claims({ iss: iss() }), good))).toBe('401: unknown_issuer')
    expect(ours.asked).toEqual([])
  })

  test.each<[string, unknown]>([
    ['a list with ours', ['OURS']],
    ['null', null],
    ['missing', undefined],
    ['an object', { url: 'x' }],
  ])('%s is refused', async (_title, iss) => {
    const value = Array.isArray(iss) ? [ours.url] : iss
    expect(await auth.outcome(forge(header(), claims({ iss: value }), good))).toBe('401: malformed')
  })

  test('that is the other one gets only its own rules, and only by its own key', async () => {
    const theirs = rs256(privateKeyOf(other.issuer, 'of-the-other'))
    const head = header({ kid: 'of-the-other' })
    expect(await auth.outcome(forge(head, claims({ iss: other.url }), theirs))).toBe('forbidden')
    expect(await auth.outcome(forge(head, claims({ iss: other.url, project_id: 7 }), theirs))).toBe('allowed: theirs')
    expect(await auth.outcome(forge(header(), claims({ iss: other.url, project_id: 7 }), good))).toBe(
      '401: bad_signature',
    )
  })
})

describe('the claims', () => {
  test.each<[string, object, string]>([
    ['expired', { iat: NOW - 600, exp: NOW - 31 }, '401: expired'],
    ['not valid yet', { nbf: NOW + 31 }, '401: not_yet_valid'],
    ['issued in the future', { iat: NOW + 31 }, '401: not_yet_valid'],
    ['without exp', { exp: undefined }, '401: bad_claims'],
    ['without iat', { iat: undefined }, '401: bad_claims'],
    ['without sub', { sub: undefined }, '401: bad_claims'],
    ['without aud', { aud: undefined }, '401: bad_claims'],
    ['exp as text', { exp: String(NOW + 600) }, '401: bad_claims'],
    ['exp null', { exp: null }, '401: bad_claims'],
    ['exp negative', { exp: -1 }, '401: expired'],
    ['nbf as text', { nbf: '0' }, '401: bad_claims'],
    ['iat as text', { iat: String(NOW) }, '401: bad_claims'],
    ['iat zero', { iat: 0 }, '401: lives_too_long'],
    ['a life of more than a day', { exp: NOW + 86_401 }, '401: lives_too_long'],
    ['a life of a year, nearly over', { iat: NOW - 31_000_000, exp: NOW + 60 }, '401: lives_too_long'],
    ['a life of a day', { exp: NOW + 86_400 }, 'allowed: ours'],
    ['sub a number', { sub: 1 }, '401: bad_claims'],
    ['sub empty', { sub: '' }, '401: bad_claims'],
    ['sub with a line break', { sub: 'a\nb' }, '401: nameless'],
    ['sub of half a character', { sub: '\ud800' }, '401: nameless'],
    ['sub too long to be a name', { sub: 'a'.repeat(600) }, '401: nameless'],
    ['aud an empty list', { aud: [] }, '401: bad_claims'],
    ['aud an object', { aud: { workqueue: true } }, '401: bad_claims'],
    ['aud a list of lists', { aud: [['workqueue']] }, '401: bad_claims'],
    ['aud with a number', { aud: ['workqueue', 1] }, '401: bad_claims'],
    ['aud empty', { aud: '' }, '401: foreign_audience'],
    ['aud that begins like ours', { aud: 'workqueue2' }, '401: foreign_audience'],
    ['aud with a Kelvin sign', { aud: 'wor\u212Aqueue' }, '401: foreign_audience'],
    ['aud as one text of two', { aud: 'workqueue,other' }, '401: foreign_audience'],
    ['aud in a list of 300', { aud: ['workqueue', ...Array(299).fill('x')] }, '401: foreign_audience'],
  ])('%s: %j → %s', async (_title, changes, answer) => {
    expect(await auth.outcome(forge(header(), claims(changes), good))).toBe(answer)
  })

  test.each<[string, string]>([
    ['exp beyond every number', '"exp":1e999'],
    ['iss twice', '"iss":"https://evil.example"'],
    ['aud twice', '"aud":"elsewhere"'],
    ['sub twice, once with an escape', '"\\u0073ub":"admin"'],
    ['a name twice, deep inside', '"x":{"y":[{"a":1,"a":2}]}'],
  ])('%s is refused', async (_title, text) => {
    const changes = text.startsWith('"exp') ? { exp: undefined } : {}
    expect(await auth.outcome(forge(header(), withText(text, changes), good))).toMatch(/^401: (malformed|bad_claims)$/)
  })

  test('of names that every object has are no claims', async () => {
    const permissions = ['read']
    const lax = startAuth(
      { rules: [{ name: 'r', issuer: ours.url, claims: { aud: 'workqueue', constructor: 'x' }, permissions }] },
      clock,
    )
    expect(await lax.outcome(forge(header(), claims(), good))).toBe('forbidden')
    expect(await lax.outcome(forge(header(), withText('"__proto__":{"constructor":"x"}'), good))).toBe('forbidden')
    expect(await lax.outcome(forge(header(), claims({ constructor: 'x' }), good))).toBe('allowed: r')
  })
})

describe('the spelling', () => {
  const flip = (token: string, at: number, by: string) => token.split('.').toSpliced(at, 1, by).join('.')
  test.each<[string, (token: string) => string]>([
    ['four parts', (token) => `${token}.AA`],
    ['five parts, as of an encrypted token', (token) => `${token}.AA.AA`],
    ['one part', (token) => token.replaceAll('.', '')],
    ['an empty payload', (token) => flip(token, 1, '')],
    ['padding', (token) => `${token}=`],
    ['the other base64', (token) => flip(token, 2, `+/${token.split('.')[2]?.slice(2)}`)],
    // The last of 342 characters holds two bits of the signature; the other four mean nothing.
    [
      'spare bits at the end',
      (token) => token.replace(/.$/, (last) => ({ A: 'B', Q: 'R', g: 'h', w: 'x' })[last] ?? ''),
    ],
    ['a header that is no JSON', (token) => flip(token, 0, 'AAAA')],
    ['a payload that is a list', (token) => flip(token, 1, Buffer.from('[]').toString('base64url'))],
    ['a payload that is null', (token) => flip(token, 1, Buffer.from('null').toString('base64url'))],
    [
      'a payload that is no UTF-8',
      (token) => flip(token, 1, Buffer.from('{"iss":"\xff"}', 'latin1').toString('base64url')),
    ],
  ])('with %s is refused', async (_title, change) => {
    expect(await auth.outcome(change(forge(header(), claims(), good)))).toBe('401: malformed')
  })

  test.each<[string, () => string]>([
    ['of a megabyte', () => forge(header(), claims({ x: 'a'.repeat(1_000_000) }), good)],
    ['over the limit by a little', () => forge(header(), claims({ x: 'a'.repeat(5_800) }), good)],
    ['nested a thousand deep', () => forge(header(), withText(`"x":${'['.repeat(1_000)}${']'.repeat(1_000)}`), good)],
    [
      'nested a hundred thousand deep',
      () => forge(header(), withText(`"x":${'['.repeat(1e5)}${']'.repeat(1e5)}`), good),
    ],
    ['of nothing but quotes', () => forge(header(), `{${'"\\'.repeat(2_900)}`, good)],
    [
      'with a header nested deep',
      () => forge(`{"alg":"RS256","x":${'['.repeat(99)}${']'.repeat(99)}}`, claims(), good),
    ],
  ])('%s is refused before it costs anything', async (_title, make) => {
    const token = make()
    const started = performance.now()
    expect(await auth.outcome(token)).toBe('401: malformed')
    expect(performance.now() - started).toBeLessThan(250)
    expect(ours.asked).toEqual([])
  })

  test('of a token that is refused costs the provider two questions at most', async () => {
    for (let index = 0; index < 20; index += 1) await auth.outcome(forge(header({ kid: `k${index}` }), claims(), good))
    expect(ours.asked).toEqual(['/.well-known/openid-configuration', KEYS])
  })
})

test('an elliptic key of a stranger does not pass for the issuer either', async () => {
  const forged: Signer = (input) =>
    sign('SHA256', Buffer.from(input), { key: curve.privateKey, dsaEncoding: 'ieee-p1363' })
  expect(await auth.outcome(forge(header({ alg: 'ES256', kid: 'curve' }), claims(), forged))).toBe('401: bad_signature')
})
