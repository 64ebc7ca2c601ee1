import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ClaimConditions, comparable, unmetConditions } from './claim-matching.ts'

const matches = (conditions: ClaimConditions, claims: unknown) => unmetConditions(conditions, claims).length === 0

describe('claims match', () => {
  test.each<[string, ClaimConditions, unknown, boolean]>([
    ['a text', { ref: ['main'] }, { ref: 'main' }, true],
    ['a text in another case', { ref: ['main'] }, { ref: 'MAIN' }, true],
    ['a number as text', { project_id: ['20'] }, { project_id: 20 }, true],
    ['true as text', { ref_protected: ['true'] }, { ref_protected: true }, true],
    ['text as true', { ref_protected: ['true'] }, { ref_protected: 'true' }, true],
    ['one of several values', { ref: ['main', 'next'] }, { ref: 'next' }, true],
    ['any of a list', { groups: ['b'] }, { groups: ['a', 'b'] }, true],
    ['none of a list', { groups: ['c'] }, { groups: ['a', 'b'] }, false],
    ['an empty list', { groups: ['c'] }, { groups: [] }, false],
    ['a list as one text', { groups: ['a,b'] }, { groups: ['a', 'b'] }, false],
    ['a list in a list', { groups: ['a'] }, { groups: [['a']] }, false],
    ['all conditions', { a: ['1'], b: ['2'] }, { a: 1, b: 2 }, true],
    ['all conditions but one', { a: ['1'], b: ['2'] }, { a: 1, b: 3 }, false],
    ['no conditions', {}, { a: 1 }, false],
    ['a missing claim', { a: ['undefined'] }, {}, false],
    ['null', { a: ['null'] }, { a: null }, false],
    ['an object', { a: ['[object object]'] }, { a: {} }, false],
    ['an empty text', { a: [''] }, { a: '' }, false],
    ['a fraction', { a: ['28.5'] }, { a: 28.5 }, false],
    ['a number too large to be exact', { a: ['9007199254740992'] }, { a: 2 ** 53 }, false],
    ['a number with an exponent', { a: ['1e+21'] }, { a: 1e21 }, false],
    ['infinity', { a: ['infinity'] }, { a: Number.POSITIVE_INFINITY }, false],
    ['half of a character', { a: ['\ud800'] }, { a: '\ud800' }, false],
    ['the Kelvin sign', { a: ['k'] }, { a: '\u212A' }, false],
    ['a text beyond the cap', { a: ['x'.repeat(1_025)] }, { a: 'x'.repeat(1_025) }, false],
    ['a list beyond the cap', { a: ['x'] }, { a: Array(257).fill('x') }, false],
    ['a pointer', { '/kubernetes.io/namespace': ['ci'] }, { 'kubernetes.io': { namespace: 'ci' } }, true],
    ['a pointer with escapes', { '/a~1b/c~0d': ['x'] }, { 'a/b': { 'c~d': 'x' } }, true],
    ['a pointer into a list', { '/a/0': ['x'] }, { a: ['x'] }, false],
    ['a pointer into a text', { '/a/length': ['1'] }, { a: 'x' }, false],
    ['a name with dots', { 'a.b': ['x'] }, { a: { b: 'x' } }, false],
    ['an inherited name', { constructor: ['x'] }, {}, false],
    ['a name of a name', { '/constructor/name': ['object'] }, {}, false],
    ['a value that is inherited', { a: ['x'] }, Object.create({ a: 'x' }), false],
    ['claims that are none', { a: ['x'] }, null, false],
  ])('%s: %j against %j: %s', (_title, conditions, claims, answer) => {
    expect(matches(conditions, claims)).toBe(answer)
  })
})

/** As a careless comparison would write it. */
function asText(value: unknown): string {
  try {
    return String(value)
  } catch {
    return ''
  }
}

const NAMES = ['aud', 'sub', 'ref', '/a/b', 'a', '__proto__', 'constructor', 'toString', '/constructor/name']
const name = fc.constantFrom(...NAMES)
const word = fc.constantFrom('x', 'X', 'true', '1', 'null', '[object object]', 'undefined', 'nan', 'x,x', '')
const scalar = fc.oneof(word, fc.boolean(), fc.integer({ min: 0, max: 2 }), fc.constantFrom(null, 1.5, 2 ** 60))
const claim = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), fc.dictionary(name, scalar, { maxKeys: 2 }))
const claims = fc.dictionary(name, claim, { maxKeys: 6 })
const values = fc.array(
  word.map((text) => comparable(text) ?? ''),
  { minLength: 1, maxLength: 3 },
)
const conditions = fc.dictionary(name, values, { minKeys: 1, maxKeys: 3 })

describe('whatever the token', () => {
  test('one more condition never makes it match', () => {
    fc.assert(
      fc.property(conditions, name, values, claims, (before, extra, value, token) => {
        if (Object.hasOwn(before, extra)) return
        const after = Object.fromEntries([...Object.entries(before), [extra, value]])
        expect(!matches(after, token) || matches(before, token)).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  test('a value more makes it match no less, and no condition at all never', () => {
    fc.assert(
      fc.property(conditions, name, word, claims, (before, key, extra, token) => {
        const after = Object.fromEntries(
          Object.entries(before).map(([one, list]) => [one, one === key ? [...list, extra] : list]),
        )
        expect(!matches(before, token) || matches(after, token)).toBe(true)
        expect(matches({}, token)).toBe(false)
      }),
    )
  })

  test('what is no text, integer, true or false matches no value', () => {
    const strange = fc.oneof(
      fc.constantFrom(null, undefined, Number.NaN, Number.POSITIVE_INFINITY, 0.1, 1e21, 2 ** 53, -(2 ** 53), '', []),
      fc.double().filter((number) => !Number.isSafeInteger(number)),
      fc.object(),
      fc.array(fc.array(fc.string(), { minLength: 1 }), { minLength: 1 }),
      fc.array(fc.object(), { minLength: 1 }),
    )
    fc.assert(
      fc.property(strange, (value) => {
        const spellings = [asText(value), JSON.stringify(value) ?? '', '', 'null', '[object object]', 'undefined']
        expect(matches({ a: spellings.map((text) => text.toLowerCase()) }, { a: value })).toBe(false)
      }),
      { numRuns: 2_000 },
    )
  })

  test('a name that it does not have itself has no value', () => {
    const inherited = fc.constantFrom(...Object.getOwnPropertyNames(Object.prototype))
    fc.assert(
      fc.property(inherited, claims, (key, token) => {
        const { [key]: _own, ...rest } = token
        const spellings = ['object', 'function', '', 'true', 'false', String(Reflect.get({}, key)).toLowerCase()]
        expect(matches({ [key]: spellings }, rest)).toBe(false)
        expect(matches({ [`/${key}/name`]: ['object', key.toLowerCase(), ''] }, rest)).toBe(false)
      }),
    )
  })

  test('what it says as text, it may say as number, boolean or one of a list', () => {
    const plain = fc.oneof(fc.integer(), fc.boolean(), fc.stringMatching(/^[a-zA-Z0-9:/._-]{1,40}$/))
    fc.assert(
      fc.property(plain, (value) => {
        const wanted = { a: [comparable(value) ?? ''] }
        for (const said of [value, String(value), [value], ['other', String(value).toUpperCase()]]) {
          expect(matches(wanted, { a: said })).toBe(true)
        }
      }),
    )
  })
})
