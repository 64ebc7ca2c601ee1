import { afterEach, beforeEach, expect, test } from 'vitest'
import { createTestClock, type TestClock } from '../../test/support/oidc-auth.ts'
import { type OidcProvider, startOidcProvider, unreachable } from '../../test/support/oidc-provider.ts'
import { authConfigSchema } from './config.ts'
import { explainToken } from './explain.ts'
import { newToken } from './token.ts'

let clock: TestClock
let provider: OidcProvider
beforeEach(async () => {
  clock = createTestClock()
  provider = await startOidcProvider(clock.now)
})
afterEach(() => provider.close())

const known = newToken()

function config(): unknown {
  const issuer = provider.url
  return {
    rules: [
      {
        name: 'ci',
        issuer,
        claims: { aud: 'workqueue', project_id: '42', ref_protected: true },
        permissions: ['submit'],
      },
      { name: 'nested', issuer, claims: { aud: 'workqueue', '/job/user': ['ann', 'bob'] }, permissions: ['read'] },
      {
        name: 'elsewhere',
        issuer: 'https://gitlab.example.com',
        claims: { aud: 'workqueue', sub: 'x' },
        permissions: ['read'],
      },
      { name: 'people', groups: ['ops'], permissions: ['admin'] },
      { name: 'script', token_sha256: known.sha256, permissions: ['submit'] },
      { name: 'old', token_sha256: newToken().sha256, expires_at: '2020-01-01T00:00:00Z', permissions: ['submit'] },
    ],
  }
}

async function explain(token: string) {
  const { rules } = await explainToken(authConfigSchema.parse(config()), token, { clock })
  return Object.fromEntries(rules.map(({ name, matches, reasons }) => [name, matches ? 'matches' : reasons]))
}

test('a signed token: which rule matches, and claim by claim why the others do not', async () => {
  const claims = { project_id: '42', ref_protected: 'true', job: { user: 'eve' }, secret: 'do not show' }
  const token = await provider.token(claims)
  expect(await explain(token)).toEqual({
    ci: 'matches',
    nested: ['the claim /job/user has to be "ann" or "bob", and is "eve"'],
    elsewhere: [`it is for tokens of https://gitlab.example.com, and this one is of "${provider.url}"`],
    people: ['it is for users of OpenShift, and this is no token of theirs'],
    script: ['it is for a static token, and this is none'],
    old: ['it is for a static token, and this is none', 'the rule has expired'],
  })
  const other = await explain(await provider.token({ ref_protected: 'false' }))
  expect(other['ci']).toEqual([
    'the claim project_id has to be "42", and is missing',
    'the claim ref_protected has to be "true", and is "false"',
  ])
  expect(JSON.stringify([other, await explain(token)])).not.toContain('do not show')
})

test.each<[string, object, string]>([
  ['for another service', { aud: 'elsewhere' }, 'foreign_audience'],
  ['of yesterday', { iat: 1, nbf: 1, exp: 2 }, 'expired'],
])('a token %s is refused, with the reason', async (_title, claims, reason) => {
  const explanation = await explainToken(authConfigSchema.parse(config()), await provider.token(claims), { clock })
  expect(explanation).toMatchObject({ caller: null, refusal: { reason }, unavailable: null })
})

test('while the issuer is away, nobody can say, and the claims are read all the same', async () => {
  provider.faults.keys = unreachable
  const token = await provider.token({ project_id: '41', ref_protected: 'true' })
  const explanation = await explainToken(authConfigSchema.parse(config()), token, { clock })
  expect(explanation).toMatchObject({ caller: null, refusal: null, unavailable: expect.stringContaining(provider.url) })
  expect(explanation.rules[0]?.reasons).toEqual(['the claim project_id has to be "42", and is "41"'])
})

test('a static token: the rule that knows it, and no other', async () => {
  expect(await explain(known.token)).toMatchObject({
    ci: ['it is for a signed token (JWT), and this is none that an issuer makes'],
    script: 'matches',
    old: ['it knows another static token: the digest differs'],
  })
})
