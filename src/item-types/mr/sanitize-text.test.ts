import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sanitizeText } from './sanitize-text.ts'

/** How GitLab finds quick actions: carriage returns are deleted first, then a slash begins a line, case ignored. */
function quickActionsIn(text: string): readonly string[] {
  return text
    .replaceAll('\r', '')
    .split('\n')
    .filter((line) => /^\s*\/[a-z]/i.test(line))
}

describe('sanitizeText', () => {
  test.each<[string, string, string]>([
    ['a quick action', '/merge', '\\/merge'],
    ['one after others', 'Text.\n/approve\n', 'Text.\n\\/approve\n'],
    ['one behind blanks', '  \t/close', '  \t\\/close'],
    ['one behind a carriage return', 'a\r\n\r/merge', 'a\n\\/merge'],
    ['one inside a carriage return', '/\rmerge', '\\/merge'],
    ['one in a code block', '```\n/merge\n```', '```\n\\/merge\n```'],
    ['one behind an invisible character', '\u200b/merge', '\u200b\\/merge'],
    ['several', '/a\n/b', '\\/a\n\\/b'],
  ])('makes %s harmless', (_title, text, safe) => {
    expect(sanitizeText(text)).toBe(safe)
  })

  test.each(['', 'plain', 'a/b and http://x/y', '- /not at the start', 'x\n\ny', 'ünïcödé 🎉'])(
    'keeps %j as it is',
    (text) => {
      expect(sanitizeText(text)).toBe(text)
    },
  )

  test('takes a long run of empty lines as it comes, without looking at it again from every line', () => {
    const text = `x${'\n'.repeat(500_000)}a${' '.repeat(100_000)}`
    expect(sanitizeText(text)).toBe(text)
  })

  const hostile = fc
    .array(fc.constantFrom('/', 'merge', '\r', '\n', ' ', '\t', '\u200b', '\ufeff', '\u2028', '\\', '`', '>', 'x'))
    .map((parts) => parts.join(''))

  test('leaves no quick action in any text', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: 'binary' })), (text) => {
        expect(quickActionsIn(sanitizeText(text))).toEqual([])
      }),
      { numRuns: 2_000 },
    )
  })

  test('changes nothing the second time', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const once = sanitizeText(text)
        expect(sanitizeText(once)).toBe(once)
      }),
    )
  })
})
