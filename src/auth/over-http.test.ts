/** What callers of the API see of all this: the same 401 for every bad token, 403 for a stranger, 503 in an outage. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aNote, startTestApi, type TestApi } from '../../test/support/api.ts'
import { createTestClock, startAuth, type TestClock } from '../../test/support/oidc-auth.ts'
import { type OidcProvider, startOidcProvider, unreachable } from '../../test/support/oidc-provider.ts'

let clock: TestClock
let provider: OidcProvider
let api: TestApi

beforeEach(async () => {
  clock = createTestClock()
  provider = await startOidcProvider(clock.now)
  const claims = { aud: 'workqueue', project_id: '42', ref_protected: true }
  const rules = [{ name: 'ci', issuer: provider.url, claims, permissions: ['submit'], item_types: ['note'] }]
  const { service } = startAuth({ rules, issuers: [{ issuer: provider.url, alias: 'gitlab' }] }, clock)
  api = await startTestApi({ authenticator: service })
})
afterEach(async () => {
  await api.app.close()
  await provider.close()
})

function submit(token: string, requestId = 'same') {
  const headers = { authorization: `Bearer ${token}`, 'x-request-id': requestId }
  return api.app.inject({ method: 'POST', url: '/api/v1/work-items', headers, payload: aNote })
}
const ciToken = (claims: object = {}) => provider.token({ project_id: '42', ref_protected: 'true', ...claims })

test('a CI job with a token of its issuer submits, under its own name', async () => {
  const answer = await submit(await ciToken({ sub: 'project_path:a/b:ref_type:branch:ref:main' }))
  expect(answer.statusCode).toBe(201)
  expect(api.entries.at(-1)).toMatchObject({
    caller: 'jwt:gitlab:project_path:a/b:ref_type:branch:ref:main',
    outcome: 'allowed',
    facts: { rules: ['ci'] },
  })
})

test.each<[string, object]>([
  ['of another project', { project_id: '43' }],
  ['on a branch that anybody may push', { ref_protected: 'false' }],
])('a CI job %s is refused, and told which permission it lacks', async (_title, claims) => {
  const answer = await submit(await ciToken(claims))
  expect(answer.statusCode).toBe(403)
  expect(answer.json().detail).toContain('"submit"')
  expect(api.entries).toMatchObject([{ caller: 'jwt:gitlab:somebody', outcome: 'denied', facts: { rules: [] } }])
})

test('every bad token has the same answer, and its reason is in the audit alone', async () => {
  const bad = [
    await ciToken({ aud: 'elsewhere' }),
    await ciToken({ exp: 1 }),
    await ciToken({ iss: 'https://elsewhere.example' }),
    `${(await ciToken()).slice(0, -8)}AAAAAAAA`,
    `sha256~${'a'.repeat(43)}`,
  ]
  const answers = []
  for (const token of bad) {
    const { statusCode, body, headers } = await submit(token)
    answers.push(`${statusCode} ${body} ${headers['www-authenticate']}`)
  }
  expect(new Set(answers).size).toBe(1)
  expect(answers[0]).toMatch(/^401 .*error="invalid_token"$/)
  expect(api.entries.map(({ facts }) => facts?.['reason'])).toEqual([
    'foreign_audience',
    'expired',
    'unknown_issuer',
    expect.stringMatching(/bad_signature|malformed/),
    'unknown_token',
  ])
  for (const token of bad) expect(JSON.stringify(api.entries)).not.toContain(token)
})

test('while nobody can say whether a token is good, callers are asked to come back', async () => {
  provider.faults.keys = unreachable
  const answer = await submit(await ciToken())
  expect(answer.statusCode).toBe(503)
  expect(answer.headers['retry-after']).toBe('5')
  expect(answer.body).not.toContain(provider.url)
  provider.faults.keys = null
  clock.advance(5_000)
  expect((await submit(await ciToken())).statusCode).toBe(201)
})
