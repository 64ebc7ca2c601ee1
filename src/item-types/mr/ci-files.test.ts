import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ciConfigPathOf, localIncludes, matchesInclude } from './ci-files.ts'

const PROJECT = 'Group/widgets'

describe('the pipeline definition', () => {
  test.each([
    [null, '.gitlab-ci.yml'],
    ['', '.gitlab-ci.yml'],
    ['/ci/main.yml', 'ci/main.yml'],
    ['./ci/main.yml', 'ci/main.yml'],
    ['ci/main.yml@group/other', null],
    ['https://example.com/ci.yml', null],
  ])('of %j lies at %j', (configured, path) => {
    expect(ciConfigPathOf(configured)).toBe(path)
  })
})

describe('what a definition includes from its own project', () => {
  test.each<[string, string, readonly string[]]>([
    ['a path', 'include: /ci/a.yml', ['ci/a.yml']],
    ['paths', 'include: [ci/a.yml, /ci/b.yml]', ['ci/a.yml', 'ci/b.yml']],
    ['an object', 'include:\n  local: /ci/a.yml', ['ci/a.yml']],
    [
      'objects',
      'include:\n  - local: /ci/a.yml\n  - local: ci/*.yml\n    rules: [{ if: $X }]',
      ['ci/a.yml', 'ci/*.yml'],
    ],
    [
      'a file of the project by its name',
      'include: [{ project: group/Widgets, file: [/a.yml, /b.yml] }]',
      ['a.yml', 'b.yml'],
    ],
    ['a file of another project', 'include: [{ project: group/other, file: /a.yml }]', []],
    ['an address', 'include: https://example.com/a.yml', []],
    ['a remote, a template, a component', 'include: [{ remote: x }, { template: y.yml }, { component: z@1 }]', []],
    ['a child pipeline', 'build:\n  trigger:\n    include: [{ local: ci/child.yml }]', ['ci/child.yml']],
    ['a child pipeline by its path', 'build:\n  trigger: { include: ci/child.yml }', ['ci/child.yml']],
    ['a generated child pipeline', 'build:\n  trigger: { include: [{ artifact: a.yml, job: x }] }', []],
    ['what follows a header', 'spec: { inputs: {} }\n---\ninclude: ci/a.yml', ['ci/a.yml']],
    ['beside tags and anchors', '.a: &a { script: !reference [x, y] }\nb: { <<: *a }\ninclude: ci/a.yml', ['ci/a.yml']],
    ['a path with a variable', 'include: ci/$STAGE.yml', ['ci/$STAGE.yml']],
    ['a variable alone', 'include: $FILE', []],
    ['nothing', 'build: { script: make }', []],
    ['no map', '- a', []],
    ['no YAML', 'a: [', []],
    ['nonsense', 'include: [1, null, { local: 2 }, [x]]', []],
  ])('%s', (_title, definition, includes) => {
    expect(localIncludes(definition, PROJECT)).toEqual(includes)
  })

  test('is nothing for a definition that unfolds without end', () => {
    const levels = Array.from({ length: 30 }, (_, n) => `l${n + 1}: &l${n + 1} [*l${n}, *l${n}, *l${n}, *l${n}]`)
    expect(localIncludes(`l0: &l0 x\n${levels.join('\n')}\ninclude: a.yml`, PROJECT)).toEqual([])
  })

  test('never throws', () => {
    fc.assert(fc.property(fc.string(), (text) => Array.isArray(localIncludes(`include: ${text}`, PROJECT))))
  })
})

test.each([
  ['ci/a.yml', 'ci/a.yml', true],
  ['ci/a.yml', 'CI/A.yml', true],
  ['ci/a.yml', 'ci/aXyml', false],
  ['ci/*.yml', 'ci/a.yml', true],
  ['ci/*.yml', 'ci/deep/a.yml', false],
  ['ci/**.yml', 'ci/deep/a.yml', true],
  ['ci/**/*.yml', 'ci/a.yml', true],
  ['ci/**/*.yml', 'ci/very/deep/a.yml', true],
  ['ci/$STAGE/a.yml', 'ci/test/a.yml', true],
  ['ci/$STAGE.yml', 'src/x.yml', false],
  ['*a*/b*', 'xay/bz', true],
  ['*a*/b*', 'xay/bz/c', false],
])('the include %s meets the path %s: %s', (include, path, meets) => {
  expect(matchesInclude(include, path)).toBe(meets)
})

test('an include of many globs takes no time, and rather meets too much', () => {
  const path = `${'a'.repeat(1_000)}/b`
  expect(matchesInclude('a*a*a*a*a*a*a', path)).toBe(false)
  expect(matchesInclude('*a'.repeat(500), path)).toBe(true)
})

test('an include matches as the regular expression of the same meaning does', () => {
  const piece = fc.constantFrom('a', 'b', '/', '*', '**', '$X')
  const text = (of: fc.Arbitrary<string>) => fc.array(of, { maxLength: 8 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(text(piece), text(fc.constantFrom('a', 'b', '/')), (include, path) => {
      const source = include.replace(/\*\*\/?|\*|\$\w+/g, (glob) => (glob === '*' ? '[^/]*' : '[^]*'))
      expect(matchesInclude(include, path)).toBe(new RegExp(`^${source}$`, 'i').test(path))
    }),
    { numRuns: 2_000 },
  )
})
