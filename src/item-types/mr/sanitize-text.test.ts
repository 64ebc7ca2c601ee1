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

  const BREAK = '\u200b'

  test.each<[string, string, string]>([
    ['a mention', 'for @root', `for @${BREAK}root`],
    ['a mention of a group', '@group/sub, @all', `@${BREAK}group/sub, @${BREAK}all`],
    [
      'a mention whose @ is an entity',
      '&#64;root &#x0040;root &commat;root',
      `&#64;${BREAK}root &#x0040;${BREAK}root &commat;${BREAK}root`,
    ],
    ['a mention whose name begins with an entity', '@&#114;oot', `@${BREAK}&#114;oot`],
    ['a mention in emphasis', '_@root_ **@root**', `_@${BREAK}root_ **@${BREAK}root**`],
    ['a mention behind a carriage return', '@\rroot', `@${BREAK}root`],
    ['closing words', 'Closes #1, #2. fixing: g/p#3', `Closes${BREAK} #1, #2. fixing${BREAK}: g/p#3`],
    ['a closing word over a line end', 'Resolves\n issue #1', `Resolves${BREAK}\n issue #1`],
    [
      'a closing word in front of an address',
      'Implements https://x/-/issues/1',
      `Implements${BREAK} https://x/-/issues/1`,
    ],
    ['a closing word in front of a key of Jira', 'fixed ABC-1', `fixed${BREAK} ABC-1`],
    ['a comment', 'a <!-- b --> c', `a <${BREAK}!-- b --> c`],
    ['an image', '![x](https://x/y.png)', `!${BREAK}[x](https://x/y.png)`],
    ['an image in HTML', '<IMG src=x>', `<${BREAK}IMG src=x>`],
  ])('makes %s harmless', (_title, text, safe) => {
    expect(sanitizeText(text)).toBe(safe)
  })

  test.each([
    'mail ann@example.com about lodash@4.17.21',
    'half past @ five',
    'fix utf-8 and close the door, see #1',
    'suffixes #1',
    'if (a < b && !c) x[0]',
    '<details><summary>x</summary></details> <b>bold</b>',
  ])('leaves alone what nobody acts on: %s', (text) => {
    expect(sanitizeText(text)).toBe(text)
  })

  test('keeps what the project allows', () => {
    const text = '@root\nCloses #1\n<!-- x -->\n/merge'
    const allowed = { mentions: 'allow', closing_words: 'allow', html: 'allow' } as const
    expect(sanitizeText(text, allowed)).toBe('@root\nCloses #1\n<!-- x -->\n\\/merge')
    expect(sanitizeText(text, { ...allowed, mentions: 'refuse' })).toContain(`@${BREAK}root`)
  })

  const pieces = [
    '@',
    '&#64;',
    'root',
    'Closes',
    'fix',
    ':',
    ' ',
    '#1',
    'g/p#2',
    'ABC-1',
    '<!--',
    '<img',
    '!',
    '[',
    BREAK,
  ]
  const hostile = fc
    .array(
      fc.constantFrom(
        ...pieces,
        '/',
        'merge',
        '\r',
        '\n',
        ' ',
        '\t',
        '\u200b',
        '\ufeff',
        '\u2028',
        '\\',
        '`',
        '>',
        'x',
      ),
    )
    .map((parts) => parts.join(''))

  test('leaves no quick action in any text', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: 'binary' })), (text) => {
        expect(quickActionsIn(sanitizeText(text))).toEqual([])
      }),
      { numRuns: 2_000 },
    )
  })

  /** As GitLab finds them, once it has decoded entities. */
  const ACTIVE = [
    /(?<![a-z0-9])@[a-z0-9_]/i,
    /\b(clos(e[sd]?|ing)|fix(e[sd]|ing)?|resolv(e[sd]?|ing)|implement(s|ed|ing)?):? +(issues? +)?[\w/.-]*#\d/i,
    // Keys of Jira are in capitals: `Closes fixABC-1` closes nothing.
    /\b([Cc]los(e[sd]?|ing)|[Ff]ix(e[sd]|ing)?|[Rr]esolv(e[sd]?|ing)|[Ii]mplement(s|ed|ing)?):? +(issues? +)?[A-Z][A-Z0-9_]+-\d/,
    /<!--|<img\b|!\[/i,
  ]

  test('leaves no mention, closing word, comment or image in any text', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const decoded = sanitizeText(text).replaceAll('&#64;', '@')
        for (const pattern of ACTIVE) expect(decoded).not.toMatch(pattern)
      }),
      { numRuns: 2_000 },
    )
  })

  test('grows by one character for each at most, so that no limit of GitLab is passed', () => {
    fc.assert(fc.property(hostile, (text) => sanitizeText(text).length <= 2 * text.length))
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
