import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { readShape } from '../lib/read-shape.ts'
import { createAuthenticator } from './authenticator.ts'
import { authConfigSchema } from './config.ts'
import { allowingRules, type Identity, may, PERMISSIONS } from './identity.ts'
import { isStaticToken, newToken } from './token.ts'

const NOON = new Date('2026-12-01T12:00:00Z')
const { token, sha256 } = newToken()
const rule = { name: 'ci', token_sha256: sha256, permissions: ['submit'] }

function messages(config: unknown): string[] {
  const reading = readShape(authConfigSchema, config)
  return reading.ok ? [] : reading.findings.map((finding) => `${finding.path}: ${finding.message}`)
}

describe('the auth configuration', () => {
  test('accepts a rule, for all item types unless it says otherwise', () => {
    expect(authConfigSchema.parse({ rules: [rule] }).rules[0]).toMatchObject({ name: 'ci', item_types: '*' })
  })

  test.each<[string, unknown, RegExp]>([
    ['no rule at all', { rules: [] }, /^\/rules: .*nobody can use the service.*wq token/],
    [
      'a rule for nobody',
      { rules: [{ ...rule, token_sha256: undefined }] },
      /the rule "ci" is for nobody.*openssl rand/,
    ],
    ['the token itself', { rules: [{ ...rule, token_sha256: token }] }, /never the token itself.*openssl rand/],
    ['an upper-case digest', { rules: [{ ...rule, token_sha256: sha256.toUpperCase() }] }, /lower-case/],
    ['an unknown key', { rules: [{ ...rule, premissions: [] }] }, /\/rules\/0\/premissions: .*not a known field/],
    ['an unknown permission', { rules: [{ ...rule, permissions: ['write'] }] }, /must be one of read, submit/],
    ['no permission', { rules: [{ ...rule, permissions: [] }] }, /at least one permission/],
    ['an empty list of item types', { rules: [{ ...rule, item_types: [] }] }, /item_types.* at least 1 entry/],
    ['an expiry that is no time', { rules: [{ ...rule, expires_at: 'soon' }] }, /expires_at must be a time such as/],
    [
      'two rules of one name',
      { rules: [rule, { ...rule, token_sha256: '0'.repeat(64) }] },
      /rules 1 and 2 .* same name/,
    ],
    ['two rules of one token', { rules: [rule, { ...rule, name: 'other' }] }, /rules 1 and 2 .* same token_sha256/],
    ['a name that could forge a log line', { rules: [{ ...rule, name: 'a\nb' }] }, /a rule name has/],
  ])('refuses %s', (_title, config, message) => {
    expect(messages(config).join('\n')).toMatch(message)
  })

  test('never repeats the token that was put in the wrong place', () => {
    expect(messages({ rules: [{ ...rule, token_sha256: token }] }).join('\n')).not.toContain(token)
  })
})

describe('a static token', () => {
  test('has 32 random bytes, and its digest is what the rule holds', () => {
    expect(isStaticToken(token)).toBe(true)
    expect(createHash('sha256').update(token).digest('hex')).toBe(sha256)
    expect(newToken().token).not.toBe(token)
  })
})

describe('the authenticator', () => {
  const authenticator = createAuthenticator(
    authConfigSchema.parse({
      rules: [
        rule,
        {
          ...rule,
          name: 'old',
          token_sha256: createHash('sha256')
            .update(`wq_${'o'.repeat(43)}`)
            .digest('hex'),
          expires_at: '2026-12-01T12:00:00Z',
        },
      ],
    }),
    { clock: { now: () => NOON, monotonicMs: () => 0 } },
  )

  test('knows the caller by the name of the rule', async () => {
    const { identity } = await authenticator.authenticate([`Bearer ${token}`])
    expect(identity).toEqual({
      name: 'token:ci',
      credential: { kind: 'token', issuer: null, expiresAt: null },
      grants: [{ rule: 'ci', permissions: ['submit'], itemTypes: '*' }],
    })
  })

  test.each<[string, string[], string]>([
    ['no header', [], 'missing'],
    ['two headers, both valid', [`Bearer ${token}`, `Bearer ${token}`], 'duplicated_header'],
    ['an empty header', [''], 'malformed'],
    ['another scheme', [`Basic ${token}`], 'malformed'],
    ['no scheme', [token], 'malformed'],
    ['two tokens in one header', [`Bearer ${token} ${token}`], 'malformed'],
    ['a trailing newline', [`Bearer ${token}\n`], 'malformed'],
    ['a token with one character more', [`Bearer ${token}A`], 'malformed'],
    ['a token with one character less', [`Bearer ${token.slice(0, -1)}`], 'malformed'],
    ['a token without its prefix', [`Bearer ${token.slice(3)}`], 'malformed'],
    ['the digest instead of the token', [`Bearer ${sha256}`], 'malformed'],
    ['a token nobody made', [`Bearer wq_${'A'.repeat(43)}`], 'unknown_token'],
    ['a token that expires this very moment', [`Bearer wq_${'o'.repeat(43)}`], 'expired'],
    ['a header of a megabyte', [`Bearer ${'a'.repeat(1_000_000)}`], 'malformed'],
  ])('refuses %s', async (_title, headers, reason) => {
    expect(await authenticator.authenticate(headers)).toMatchObject({ identity: null, reason })
  })
})

describe('permissions', () => {
  const credential = { kind: 'token', issuer: null, expiresAt: null } as const
  const identity: Identity = {
    name: 'token:x',
    credential,
    grants: [
      { rule: 'a', permissions: ['submit'], itemTypes: ['mr'] },
      { rule: 'b', permissions: ['cancel', 'submit'], itemTypes: ['mr', 'cve'] },
    ],
  }

  test('add up over all rules, and name those that allow', () => {
    expect(allowingRules(identity, 'submit', 'mr')).toEqual(['a', 'b'])
    expect(allowingRules(identity, 'cancel', 'mr')).toEqual(['b'])
  })

  test('end at the item types of their rule', () => {
    expect(may(identity, 'submit', 'other')).toBe(false)
    expect(may(identity, 'submit', null)).toBe(true)
  })

  test('include reading what one may change, and nothing else', () => {
    expect(PERMISSIONS.filter((permission) => may(identity, permission, 'cve'))).toEqual(['read', 'submit', 'cancel'])
    expect(may(identity, 'read', 'other')).toBe(false)
  })

  test('of nobody are none', () => {
    expect(PERMISSIONS.filter((permission) => may({ name: 'x', credential, grants: [] }, permission, null))).toEqual([])
  })
})
