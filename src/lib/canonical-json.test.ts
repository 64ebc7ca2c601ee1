import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from './canonical-json.ts'
import { contentHash } from './content-hash.ts'

/** The same value with the keys of every object written in the opposite order. */
function withKeysReversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withKeysReversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, withKeysReversed(member)]),
  )
}

const anyJson = fc.jsonValue({ stringUnit: 'binary' })

describe('canonicalJson', () => {
  test('sorts keys by code unit and keeps the order of arrays', () => {
    expect(canonicalJson({ b: [3, 1], a: { d: null, c: true }, '\u20ac': '', '1': 'x' })).toBe(
      '{"1":"x","a":{"c":true,"d":null},"b":[3,1],"€":""}',
    )
  })

  test('writes numbers as the RFC shows them', () => {
    expect(canonicalJson([1e30, 4.5, 2e-3, 1e-27, -0])).toBe('[1e+30,4.5,0.002,1e-27,0]')
  })

  test('leaves out keys without a value', () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}')
  })

  test.each<[string, unknown]>([
    ['NaN', { a: Number.NaN }],
    ['infinity', [Number.POSITIVE_INFINITY]],
    ['a lone surrogate in a value', 'x\ud800'],
    ['a lone surrogate in a key', { '\udc00': 1 }],
    ['a bigint', 1n],
    ['undefined in an array', [undefined]],
  ])('refuses %s', (_title, value) => {
    expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: 'not_json' }))
  })

  test('means the same value as the text that JSON.stringify writes', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        fc.pre(JSON.stringify(value).isWellFormed())
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})

describe('contentHash', () => {
  test('ignores the order of keys', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(contentHash(withKeysReversed(value))).toBe(contentHash(value))
      }),
    )
  })

  test('differs for values that differ', () => {
    fc.assert(
      fc.property(anyJson, anyJson, (left, right) => {
        fc.pre(canonicalJson(left) !== canonicalJson(right))
        expect(contentHash(left)).not.toBe(contentHash(right))
      }),
    )
  })

  test('is the SHA-256 of the canonical text', () => {
    expect(contentHash({})).toBe('44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a')
  })

  test('of what is stored already does not change, however long the texts', () => {
    const files = ['é€😀"\\\n\u0001 '.repeat(1_000), 'a'.repeat(4_095), ''].map((content, index) => ({
      content,
      index,
    }))
    const value = { title: 'x', files, none: null, yes: true, part: 0.5, left_out: undefined }
    expect(contentHash(value)).toBe('4debf5e8c2babc03955ea43715074de6e04d06fe2a35e1450c73432ee59678d0')
  })
})
