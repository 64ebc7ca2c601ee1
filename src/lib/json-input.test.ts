import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { locateJsonFault } from './json-fault.ts'
import { parseJson, unstorableText } from './json-input.ts'

const bytes = (text: string) => Buffer.from(text, 'utf8')

describe('parseJson', () => {
  test('reads JSON', () => {
    expect(parseJson(bytes('{"a":[1,null,"é"]}'))).toEqual({ a: [1, null, 'é'] })
  })

  test('refuses bytes that are not UTF-8 instead of repairing them', () => {
    expect(() => parseJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow(expect.objectContaining({ code: 'invalid_utf8' }))
  })

  test.each([
    ['{"a": 1,\n "b": tru}', 'line 2, column 7: expected a value.'],
    ['{"a": 1,}', 'line 1, column 9: expected a field name in double quotes.'],
    ["{'a': 1}", 'line 1, column 2: expected a field name in double quotes or "}".'],
    ['{"a" 1}', 'line 1, column 6: expected ":" after the field name.'],
    ['[1 2]', 'line 1, column 4: expected "," or "]".'],
    ['{"a":1 "b":2}', 'line 1, column 8: expected "," or "}".'],
    ['{"a":1} x', 'line 1, column 9: expected nothing more after the value.'],
    ['[1,', 'line 1, column 4: expected a value, but the body ends here.'],
    ['01', 'line 1, column 1: expected a value.'],
  ])('says where %j stops being JSON', (text, place) => {
    expect(() => parseJson(bytes(text))).toThrow(`The body is not valid JSON: ${place}`)
  })

  test('points at the text that is not closed', () => {
    expect(() => parseJson(bytes('{"a": "b'))).toThrow('line 1, column 7: expected a value (this text has a bad escape')
  })

  test('finds a fault in everything that JSON.parse refuses, and nothing before the fault', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom('', '}', ']', ',', ':', '"', 'x', '\\', '-'),
        (json, at, junk) => {
          const cut = at % (json.length + 1)
          const text = json.slice(0, cut) + junk + json.slice(cut + 1)
          try {
            JSON.parse(text)
          } catch {
            const { line, column } = locateJsonFault(text)
            expect(line).toBeGreaterThan(0)
            expect(column).toBeGreaterThan(0)
          }
        },
      ),
    )
  })

  test('does not run out of stack on hostile nesting', () => {
    expect(() => parseJson(bytes(`${'['.repeat(200_000)}x`))).toThrow('column 200001')
  })
})

describe('unstorableText', () => {
  test.each([
    ['a NUL', { a: ['x\0y'] }, 'invalid_text', '/a/0'],
    ['half a surrogate pair', { a: '\ud800' }, 'invalid_text', '/a'],
    ['a NUL in a key', { 'x\0': 1 }, 'invalid_text', ''],
    ['a number beyond a double', JSON.parse('{"n":1e400}'), 'invalid_number', '/n'],
    ['an own __proto__ key', JSON.parse('{"a":{"__proto__":{}}}'), 'unknown_field', '/a'],
  ])('finds %s', (_title, document, code, path) => {
    expect(unstorableText(document)).toEqual([expect.objectContaining({ code, path })])
  })

  test('finds nesting that nobody means', () => {
    expect(unstorableText(JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`))).toEqual([
      expect.objectContaining({ code: 'too_deep' }),
    ])
  })

  test('leaves ordinary documents alone', () => {
    expect(unstorableText({ a: 'é😀\n', b: [1.5, true, null], c: {} })).toEqual([])
  })

  test('stops after ten', () => {
    expect(unstorableText(Array.from({ length: 50 }, () => '\0'))).toHaveLength(10)
  })
})

test('a document of millions of values is refused as one', () => {
  const many = Object.fromEntries(Array.from({ length: 300_000 }, (_, index) => [`k${index}`, 0]))
  for (const document of [{ labels: new Array(3_000_000).fill(0) }, many]) {
    expect(unstorableText(document).map(({ code }) => code)).toEqual(['too_many_values'])
  }
})
