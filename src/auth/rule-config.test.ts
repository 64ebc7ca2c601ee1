/** The rules as an operator writes them: what is accepted, and what a refusal says. */
import { describe, expect, test } from 'vitest'
import { readShape } from '../lib/read-shape.ts'
import { authConfigSchema, settleIssuers } from './config.ts'

const GITLAB = 'https://gitlab.example.com'
const jwt = { name: 'ci', issuer: GITLAB, claims: { aud: 'workqueue', project_id: '42' }, permissions: ['submit'] }
const people = { name: 'people', groups: ['release-managers'], permissions: ['read', 'retry'] }

function faults(config: unknown): string {
  const reading = readShape(authConfigSchema, config)
  return reading.ok ? '' : reading.findings.map(({ path, message }) => `${path}: ${message}`).join('\n')
}
const faultsOf = (rule: object) => faults({ rules: [rule] })
const faultsOfClaims = (claims: unknown) => faultsOf({ ...jwt, claims })

describe('rules', () => {
  test('of every kind stand in one list', () => {
    const cluster = {
      ...jwt,
      name: 'sa',
      issuer: 'k8s',
      claims: { aud: 'workqueue', '/kubernetes.io/namespace': 'ci' },
    }
    const limited = { ...jwt, name: 'docs', projects: ['group/**'], branches: ['docs/*'], paths: ['docs/**'] }
    const fixed = { name: 'bot', token_sha256: '0'.repeat(64), permissions: ['submit'] }
    expect(faults({ rules: [jwt, people, cluster, limited, fixed] })).toBe('')
  })

  test('keep the values of claims in the form in which they are compared', () => {
    const claims = { aud: ['WorkQueue'], project_id: 42, ref_protected: true }
    expect(authConfigSchema.parse({ rules: [{ ...jwt, claims }] }).rules[0]?.claims).toEqual({
      aud: ['workqueue'],
      project_id: ['42'],
      ref_protected: ['true'],
    })
  })

  test.each<[string, object, RegExp]>([
    ['of two kinds', { ...jwt, groups: ['x'] }, /"ci" names callers in more than one way/],
    [
      'of two kinds, one a token',
      { ...people, token_sha256: '0'.repeat(64) },
      /"people" names callers in more than one/,
    ],
    ['of claims beside groups', { ...people, claims: jwt.claims }, /"people" names callers in more than one way/],
    ['with claims of nobody', { ...jwt, issuer: undefined }, /"ci" has claims but no issuer/],
    ['with an issuer and no claims', { ...jwt, claims: undefined }, /"ci" has an issuer but no claims.*any token/],
    ['with an empty list of groups', { ...people, groups: [] }, /at least one group/],
    ['with an empty group', { ...people, groups: [''] }, /must not be empty/],
    ['with a key that nobody knows', { ...jwt, project: ['a/b'] }, /rules\/0\/project: .*not a known field/],
    ['with an empty list of projects', { ...jwt, projects: [] }, /projects must hold at least one pattern/],
    [
      'with a pattern that takes away',
      { ...jwt, paths: ['!ci/**'] },
      /a pattern of paths starts with !.*cannot be negated/,
    ],
    ['with an extended glob', { ...jwt, projects: ['@(a|b)/c'] }, /a pattern of projects is an extended glob/],
    ['with an empty pattern', { ...jwt, branches: [''] }, /a pattern of branches is empty/],
  ])('%s are refused', (_title, rule, message) => {
    expect(faultsOf(rule)).toMatch(message)
  })

  test.each([
    'system:authenticated',
    'system:authenticated:oauth',
    'System:Authenticated',
    ' system:authenticated ',
    'system:unauthenticated',
    'system:serviceaccounts',
    'system:serviceaccounts:team-a',
  ])('for the group %j are refused, since everybody is in it', (group) => {
    expect(faultsOf({ ...people, groups: [group] })).toMatch(/everybody who can log in/)
  })

  test.each(['system:cluster-admins', 'system:authenticated-by-badge', 'dedicated-admins'])(
    'for the group %j are accepted',
    (group) => {
      expect(faultsOf({ ...people, groups: [group] })).toBe('')
    },
  )
})

describe('claims', () => {
  test.each<[string, unknown, RegExp]>([
    ['without aud', { project_id: '42' }, /"ci" has no aud.*another service would open this one/],
    ['with aud as a pointer', { '/aud': 'workqueue', project_id: '42' }, /"ci" has no aud/],
    ['of aud alone', { aud: 'workqueue' }, /"ci" says what a token is meant for, but not whose/],
    ['of aud and a branch', { aud: 'workqueue', ref: 'main', ref_protected: true }, /not whose it is/],
    ['of aud and the branch by pointer', { aud: 'workqueue', '/ref': 'main' }, /not whose it is/],
    ['of a reusable workflow', { aud: 'workqueue', job_workflow_ref: 'o/r/.github/w.yml@main' }, /not whose it is/],
    ['none', {}, /no aud/],
    ['a list', ['aud'], /must name claims/],
    ['null', null, /must name claims/],
    ['with an empty value', { ...jwt.claims, sub: '' }, /"sub" has an empty value/],
    ['with an empty list', { ...jwt.claims, sub: [] }, /"sub" has an empty list/],
    ['with an empty value in a list', { ...jwt.claims, sub: ['a', ''] }, /"sub" has an empty value/],
    ['with nothing', { ...jwt.claims, sub: null }, /"sub" must have a text/],
    ['with an object', { ...jwt.claims, sub: { a: 1 } }, /"sub" must have a text/],
    ['with a list in a list', { ...jwt.claims, sub: [['a']] }, /"sub" must have a text/],
    ['with a fraction', { ...jwt.claims, sub: 28.5 }, /no exact integer; write it in quotes/],
    ['with 20 digits', { ...jwt.claims, sub: 2 ** 64 }, /no exact integer; write it in quotes/],
    ['with a long text', { ...jwt.claims, sub: 'x'.repeat(1_025) }, /longer than 1024/],
    ['with half of a character', { ...jwt.claims, sub: '\ud800' }, /not well-formed/],
    ['with a name that is empty', { ...jwt.claims, '': 'x' }, /no name that a claim can have/],
    ['with a pointer to nothing', { ...jwt.claims, '/': 'x' }, /JSON pointer/],
    ['with a pointer and a bare ~', { ...jwt.claims, '/a~b': 'x' }, /~ must be written ~0/],
    [
      'of the prototype',
      JSON.parse('{"aud":"w","project_id":1,"__proto__":{"a":"b"}}'),
      /"__proto__" cannot be matched/,
    ],
  ])('%s are refused', (_title, claims, message) => {
    expect(faultsOfClaims(claims)).toMatch(message)
  })

  test.each(['https://gitlab.com', 'https://token.actions.githubusercontent.com'])(
    'of aud alone at %s are refused with the reason that strangers get tokens there',
    (issuer) => {
      expect(faultsOf({ ...jwt, issuer, claims: { aud: 'workqueue' } })).toMatch(/shared by all the world/)
    },
  )

  test('of a service account need its namespace, since every namespace has a "default"', () => {
    const named = { aud: 'workqueue', '/kubernetes.io/serviceaccount/name': 'default' }
    expect(faultsOf({ ...jwt, issuer: 'k8s', claims: named })).toMatch(/system:serviceaccount:NAMESPACE:NAME/)
    expect(faultsOf({ ...jwt, issuer: 'k8s', claims: { ...named, '/kubernetes.io/namespace': 'ci' } })).toBe('')
  })
})

describe('issuers', () => {
  test.each<[string, RegExp]>([
    ['gitlab.example.com', /is no address/],
    ['http://gitlab.example.com', /not https.*answer in its place/],
    ['https://user@gitlab.example.com', /has a user/],
    ['https://gitlab.example.com/?a', /has \? or #/],
    ['https://gitlab.example.com#', /has \? or #/],
    ['ftp://gitlab.example.com', /no https address/],
    [' https://gitlab.example.com', /is no address/],
    ['kubernetes', /is no address/],
  ])('%s are refused', (issuer, message) => {
    expect(faultsOf({ ...jwt, issuer })).toMatch(message)
  })

  test('are compared to the last slash', () => {
    expect(faults({ rules: [jwt], issuers: [{ issuer: `${GITLAB}/` }] })).toMatch(/no rule has this issuer/)
  })

  test('are described once', () => {
    expect(faults({ rules: [jwt], issuers: [{ issuer: GITLAB }, { issuer: GITLAB }] })).toMatch(/has an entry already/)
  })

  test('take no shared secret for a signature', () => {
    expect(faults({ rules: [jwt], issuers: [{ issuer: GITLAB, algorithms: ['HS256'] }] })).toMatch(
      /must be one of RS256/,
    )
    expect(faults({ rules: [jwt], issuers: [{ issuer: GITLAB, algorithms: ['none'] }] })).toMatch(
      /must be one of RS256/,
    )
  })

  test('whose callers would have the same names need an alias', () => {
    const slashes = { ...jwt, name: 'b', issuer: 'https://gitlab.example.com:8443' }
    const dashes = { ...jwt, name: 'c', issuer: 'https://gitlab.example.com-8443' }
    expect(faults({ rules: [slashes, dashes] })).toMatch(/would have the same names; give one of them an alias/)
    const issuers = [{ issuer: slashes.issuer, alias: 'second' }]
    expect(faults({ rules: [slashes, dashes], issuers })).toBe('')
  })

  test('need no entry of their own', () => {
    const config = authConfigSchema.parse({ rules: [jwt, { ...jwt, name: 'again' }, people] })
    expect(settleIssuers(config)).toMatchObject([
      {
        issuer: GITLAB,
        alias: 'gitlab.example.com',
        algorithms: ['RS256', 'ES256', 'ES384'],
        max_lifetime: 86_400_000,
        rules: [{ name: 'ci' }, { name: 'again' }],
      },
    ])
  })

  test('of OpenShift have an address over https, and certificates only with it', () => {
    expect(faults({ rules: [people], openshift: { api_url: 'http://api.example.com:6443' } })).toMatch(/not https/)
    expect(faults({ rules: [people], openshift: { ca_file: '/ca.crt' } })).toMatch(/ca_file goes with api_url/)
  })
})
