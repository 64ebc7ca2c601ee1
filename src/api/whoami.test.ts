import { createColors } from 'picocolors'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startTestApi, type TestApi } from '../../test/support/api.ts'
import { createTestClock, startAuth } from '../../test/support/oidc-auth.ts'
import { startOidcProvider } from '../../test/support/oidc-provider.ts'
import { whoamiText } from '../cli/whoami.ts'
import { whoamiSchema } from '../contract/whoami.ts'

let api: TestApi
beforeEach(async () => {
  api = await startTestApi()
})
afterEach(() => api.app.close())

const colors = createColors(false)

describe('who a caller is', () => {
  test('of a static token: its rule with all limits', async () => {
    const answer = await api.get('/whoami', 'team')
    expect(whoamiSchema.parse(answer.json())).toEqual({
      caller: 'token:team',
      kind: 'token',
      issuer: null,
      expires_at: null,
      rules: [
        {
          name: 'team',
          permissions: ['submit', 'cancel'],
          item_types: null,
          projects: ['team'],
          branches: ['bot-*'],
          paths: null,
        },
      ],
    })
    expect(answer.body).not.toContain(api.tokens.team.token)
    expect(api.entries).toMatchObject([{ action: 'whoami', outcome: 'allowed', caller: 'token:team' }])
  })

  test('of a signed token that no rule gives anything: it is told so, and may still do nothing', async () => {
    const clock = createTestClock()
    const provider = await startOidcProvider(clock.now)
    const claims = { aud: 'workqueue', project_id: '42' }
    const rules = [{ name: 'ci', issuer: provider.url, claims, permissions: ['submit'] }]
    await api.app.close()
    api = await startTestApi({ authenticator: startAuth({ rules }, clock).service })
    const headers = { authorization: `Bearer ${await provider.token({ project_id: '43', jti: 'job-7' })}` }

    const answer = await api.app.inject({ url: '/api/v1/whoami', headers })
    const who = whoamiSchema.parse(answer.json())
    expect(who).toMatchObject({ kind: 'jwt', issuer: provider.url, expires_at: '2026-12-01T13:00:00.000Z', rules: [] })
    expect(api.entries).toMatchObject([{ action: 'whoami', facts: { rules: [], token_id: 'job-7' } }])
    expect(whoamiText(who, colors).join('\n')).toContain('No rule of the service knows you')
    expect((await api.app.inject({ url: '/api/v1/work-items', headers })).statusCode).toBe(403)
    await provider.close()
  })

  test('is nobody without a good token', async () => {
    expect((await api.app.inject('/api/v1/whoami')).json().code).toBe('unauthenticated')
    expect((await api.get('/whoami', 'expired')).statusCode).toBe(401)
  })
})
