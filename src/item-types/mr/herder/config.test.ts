import { describe, expect, test } from 'vitest'
import { herderSchema } from './config.ts'

const faultsOf = (matcher: object) =>
  herderSchema
    .safeParse({ matchers: [{ name: 'it', match: { job: 'unit' }, action: 'retry', ...matcher }] })
    .error?.issues.map(({ path, message }) => `${path.slice(2).join('.')}: ${message}`) ?? []

describe('a matcher in the configuration', () => {
  test('takes one text or a list of them', () => {
    const [matcher] = herderSchema.parse({
      matchers: [{ name: 'it', match: { job: 'unit', stage: ['a', 'b'] }, action: 'retry', delay: '2m' }],
    }).matchers
    expect(matcher).toEqual({
      name: 'it',
      match: { job: ['unit'], stage: ['a', 'b'] },
      action: 'retry',
      delay: 120_000,
    })
  })

  test.each<[string, object, RegExp]>([
    ['without a condition', { match: {} }, /^match: expected a condition/],
    ['with a misspelt condition', { match: { jobs: 'unit' } }, /Unrecognized key: "jobs"/],
    ['with a pattern that RE2 does not take', { match: { log_tail: '(?=x)' } }, /no regular expression of RE2/],
    ['with a pattern that fits everything', { match: { log_tail: 'x*' } }, /matches the empty text/],
    ['that reports nothing', { action: 'report' }, /^message: expected a message/],
    ['with another action', { action: 'rerun' }, /^action: /],
    ['that retries for ever', { max_retries: 1_000 }, /^max_retries: /],
    ['with a name in capitals', { name: 'It' }, /^name: expected a name such as lost-runner/],
  ])('%s is refused', (_title, matcher, fault) => {
    expect(faultsOf(matcher).join('\n')).toMatch(fault)
  })

  test('needs a name of its own', () => {
    const matcher = { name: 'it', match: { job: 'unit' }, action: 'retry' }
    expect(herderSchema.safeParse({ matchers: [matcher, matcher] }).error?.issues[0]?.message).toMatch(/same name/)
  })
})
