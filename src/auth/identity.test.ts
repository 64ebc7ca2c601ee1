/** What a grant covers, and what callers are called. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { activate } from './authentication.ts'
import { callerName } from './caller-name.ts'
import { authConfigSchema } from './config.ts'
import { allowingRules, type Identity, may, type Permission, readable, type Scope } from './identity.ts'

function identity(...rules: readonly object[]): Identity {
  const named = rules.map((rule, index) => ({ name: `r${index}`, token_sha256: `${index}`.repeat(64), ...rule }))
  const credential = { kind: 'token', issuer: null, expiresAt: null } as const
  return {
    name: 'token:x',
    credential,
    grants: authConfigSchema.parse({ rules: named }).rules.map((rule) => activate(rule).grant),
  }
}

const scoped = identity({
  permissions: ['submit', 'cancel'],
  item_types: ['mr'],
  projects: ['group/**', 'other/one'],
  branches: ['updates/**'],
  paths: ['docs/**', 'README.md'],
})
const inside: Scope = {
  itemType: 'mr',
  project: 'group/a',
  sourceBranch: 'updates/x',
  paths: ['docs/a.md', 'README.md'],
}

describe('a limited rule', () => {
  test.each<[string, Permission, Scope, boolean]>([
    ['inside of all limits', 'submit', inside, true],
    ['a project in another case', 'submit', { ...inside, project: 'Group/A' }, true],
    ['a project deep in a group', 'submit', { ...inside, project: 'group/sub/a' }, true],
    ['another project', 'submit', { ...inside, project: 'other/two' }, false],
    ['a project that begins like it', 'submit', { ...inside, project: 'group-b/a' }, false],
    ['another branch', 'submit', { ...inside, sourceBranch: 'main' }, false],
    ['a branch in another case', 'submit', { ...inside, sourceBranch: 'Updates/x' }, false],
    ['one path outside', 'submit', { ...inside, paths: ['docs/a.md', 'src/a.ts'] }, false],
    ['a path in another case', 'submit', { ...inside, paths: ['Docs/a.md'] }, false],
    ['a dotfile inside', 'submit', { ...inside, paths: ['docs/.hidden'] }, true],
    ['a path that climbs out', 'submit', { ...inside, paths: ['docs/../src/a.ts'] }, false],
    ['a path that stays for show', 'submit', { ...inside, paths: ['docs/./a.md'] }, false],
    ['a path with a backslash', 'submit', { ...inside, paths: ['docs/..\\a'] }, false],
    ['a path with a line break', 'submit', { ...inside, paths: ['docs/a\nb'] }, false],
    ['another item type', 'submit', { ...inside, itemType: 'cve' }, false],
    ['another permission', 'retry', inside, false],
    ['a question without the project', 'submit', { itemType: 'mr' }, false],
    ['a question without the branch', 'cancel', { itemType: 'mr', project: 'group/a' }, false],
    [
      'a question without the paths',
      'submit',
      { itemType: 'mr', project: 'group/a', sourceBranch: 'updates/x' },
      false,
    ],
    ['a cancel, which has no paths', 'cancel', { itemType: 'mr', project: 'group/a', sourceBranch: 'updates/x' }, true],
    ['reading an item in its project', 'read', { itemType: 'mr', project: 'group/a', sourceBranch: 'updates/x' }, true],
    ['reading an item of another branch', 'read', { itemType: 'mr', project: 'group/a', sourceBranch: 'x' }, false],
    ['reading in another project', 'read', { itemType: 'mr', project: 'other/two', sourceBranch: 'updates/x' }, false],
    ['reading whatever there is', 'read', { itemType: 'mr' }, false],
  ])('%s: may %s %j: %s', (_title, permission, scope, answer) => {
    expect(may(scoped, permission, scope)).toBe(answer)
  })

  test('lets its caller through the door, and allows nothing to who asks by type alone', () => {
    expect(may(scoped, 'submit', null)).toBe(true)
    expect(may(scoped, 'submit', 'mr')).toBe(false)
    expect(may(scoped, 'read', 'mr')).toBe(false)
  })
})

describe('what a list may show', () => {
  test.each<[string, readonly object[], string]>([
    ['without limits', [{ permissions: ['cancel'] }], 'all'],
    ['limited to paths, which no item has', [{ permissions: ['submit'], paths: ['docs/**'] }], 'all'],
    ['limited to projects', [{ permissions: ['read'], projects: ['a/*'] }], 'some'],
    ['limited to branches', [{ permissions: ['read'], branches: ['a/*'] }], 'some'],
    ['one limited, one not', [{ permissions: ['submit'], projects: ['a/*'] }, { permissions: ['read'] }], 'all'],
    ['for another type', [{ permissions: ['read'], item_types: ['cve'] }], 'none'],
  ])('%s', (_title, rules, answer) => {
    expect(readable(identity(...rules), 'mr')).toBe(answer)
  })
})

describe('several rules', () => {
  test('add up, but each has to cover the whole of what is asked', () => {
    const docs = { permissions: ['submit'], paths: ['docs/**'] }
    const both = identity(docs, { permissions: ['submit'], paths: ['src/**'] }, { permissions: ['retry'] })
    const scope = { itemType: 'mr', project: 'a/b', sourceBranch: 'x' }
    expect(may(both, 'submit', { ...scope, paths: ['docs/a'] })).toBe(true)
    expect(may(both, 'submit', { ...scope, paths: ['src/a'] })).toBe(true)
    expect(may(both, 'submit', { ...scope, paths: ['docs/a', 'src/a'] })).toBe(false)
    expect(allowingRules(both, 'retry', scope)).toEqual(['r2'])
  })

  test('of which one is without limits allow what that one allows', () => {
    expect(
      may(identity({ permissions: ['submit'] }, { permissions: ['submit'], projects: ['a/b'] }), 'submit', 'mr'),
    ).toBe(true)
  })
})

describe('the name of a caller', () => {
  test.each<[string, string | null]>([
    [callerName('jwt', 'gitlab', 'project_path:a/b:ref:main') ?? '', 'jwt:gitlab:project_path:a/b:ref:main'],
    [callerName('k8s', 'team-a', 'bot') ?? '', 'k8s:team-a:bot'],
    [callerName('openshift', 'kube:admin') ?? '', 'openshift:kube:admin'],
    [callerName('jwt', 'x', '50% off`\u202e') ?? '', 'jwt:x:50%25%20off%60%E2%80%AE'],
  ])('%s', (name, expected) => {
    expect(name).toBe(expected)
  })

  test.each<[string, string[]]>([
    ['without a part', ['']],
    ['with a control character', ['a\u0000b']],
    ['of half a character', ['\udc00']],
    ['with a colon in its alias', ['a:b', 'c']],
    ['that is too long', ['a'.repeat(511)]],
    ['that is too long when it is written', ['é'.repeat(90)]],
  ])('%s is none', (_title, parts) => {
    expect(callerName('jwt', ...parts)).toBeNull()
  })

  test('is one for each caller, plain ASCII, and of bounded length', () => {
    const caller = fc.tuple(
      fc.constantFrom('jwt' as const, 'k8s' as const),
      fc.stringMatching(/^[a-z./:-]{1,4}$/),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }),
    )
    fc.assert(
      fc.property(caller, caller, (one, other) => {
        const [name, otherName] = [callerName(...one), callerName(...other)]
        if (name === null || otherName === null) return
        expect(name === otherName).toBe(one.join('\0') === other.join('\0'))
        expect(name).toMatch(/^[!-~]{1,512}$/)
        expect(name).not.toContain('`')
      }),
      { numRuns: 2_000 },
    )
  })
})
