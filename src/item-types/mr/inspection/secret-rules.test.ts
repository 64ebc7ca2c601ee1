import { RE2JS } from 're2js'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { SECRET_RULES } from './secret-rules.ts'
import { compileSecretScan } from './secret-scan.ts'

afterEach(() => vi.restoreAllMocks())

const scan = compileSecretScan(SECRET_RULES)
const idsIn = (text: string) => scan(text).map(({ rule: { id } }) => id)

describe('the rule', () => {
  test.each(SECRET_RULES.map((rule) => [rule.id, rule] as const))(
    '%s finds its secret and no placeholder',
    (id, rule) => {
      expect(idsIn(rule.sample)).toEqual([id])
      expect(idsIn(`text before\n${rule.sample}\ntext after`)).toEqual([id])
      expect(idsIn(rule.harmless)).toEqual([])
    },
  )
})

test('every rule has an id of its own', () => {
  expect(new Set(SECRET_RULES.map(({ id }) => id)).size).toBe(SECRET_RULES.length)
  expect(SECRET_RULES.length).toBeGreaterThanOrEqual(45)
})

test('keywords that stand in each other are each looked at', () => {
  const [first, second] = SECRET_RULES.filter(({ id }) => /^gitlab_(access|deploy)_token$/.test(id))
  expect(idsIn(`glpat-${first?.sample}${second?.sample}`)).toEqual([first?.id, second?.id])
})

/** Characters that patterns may look at in scanning this text: their time is linear in them. */
function workFor(text: string): number {
  const never = RE2JS.compile('x').matcher('')
  const matcher = vi.spyOn(RE2JS.prototype, 'matcher').mockReturnValue(never)
  scan(text)
  const work = matcher.mock.calls.reduce((sum, [input]) => sum + String(input).length, 0)
  matcher.mockRestore()
  return work
}

test.each(['eyJ-', '://', '-----BEGIN ', '"auth"', ' SG.'])(
  'the work grows with the text and no faster: %j',
  (keyword) => {
    expect(workFor('no keyword at all '.repeat(10_000))).toBe(0)
    const many = 20_000
    expect(workFor(keyword.repeat(2 * many)) / workFor(keyword.repeat(many))).toBeLessThan(2.5)
  },
)
