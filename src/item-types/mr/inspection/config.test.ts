import { describe, expect, test } from 'vitest'
import { faultOfPattern } from '../../../lib/glob.ts'
import { mrConfigSchema } from '../config.ts'
import { DEFAULT_BLOCK_LIST } from './block-list.ts'
import { inspectionKeys } from './config.ts'

const issues = (project: object) =>
  mrConfigSchema
    .safeParse({ projects: [{ path: 'a/b', ...project }] })
    .error?.issues.map(({ path, message }) => `${path.slice(2).join('.')}: ${message}`) ?? []

describe('a pattern', () => {
  test.each([
    'docs/**',
    '*.md',
    '**/Makefile',
    'a/*/b?.txt',
    '[a-c]x/[^d].md',
    '*.{yml,yaml}',
    String.raw`app/\[slug\]/page.tsx`,
    '.git*',
    'docs/a b/*',
  ])('%s can match something', (pattern) => {
    expect(issues({ block_paths: [pattern] })).toEqual([])
  })

  test.each<[string, object, RegExp]>([
    [
      'a directory with a slash at its end',
      { block_paths: ['ci/'] },
      /block_paths\.0: the pattern can match nothing: "ci\/"/,
    ],
    ['a way up', { block_paths: ['ci/../x/**'] }, /can match nothing/],
    ['two slashes', { allow_paths: ['docs//**'] }, /can match nothing/],
    ['a dot at the end', { block_paths: ['*.'] }, /can match nothing/],
    ['an invisible character', { block_paths: ['ci\u200b/**'] }, /can match nothing/],
    ['letters in two pieces', { block_paths: ['e\u0301/**'] }, /can match nothing/],
    ['a class that is negated in another way', { block_paths: ['[!d]x'] }, /does not match "xx"/],
    ['an extended glob', { block_paths: ['+(a|b)/x'] }, /extended/],
    ['a branch that no submission may name', { source_branches: ['refs/heads/**'] }, /Git or GitLab keeps/],
  ])('that can match nothing is refused: %s', (_title, project, message) => {
    expect(issues(project)).toEqual([expect.stringMatching(message)])
  })

  test('of the default block list can match something, each', () => {
    expect(DEFAULT_BLOCK_LIST.map((pattern) => faultOfPattern(pattern, () => null)).filter(Boolean)).toEqual([])
  })
})

describe('the keys of the inspection', () => {
  test.each<[string, object, RegExp]>([
    ['any bytes everywhere', { binary_files: [{ format: 'any' }] }, /binary_files\.0\.paths: expected paths/],
    ['a format nobody knows', { binary_files: [{ format: 'exe' }] }, /binary_files\.0\.format/],
    ['a secret of no rule', { allow_secrets: [{ rule: 'x', paths: ['a'] }] }, /expected the id of a rule/],
    ['a dot directory as a path', { dot_directories: ['.config/x'] }, /expected a name such as \.config/],
    ['a dot directory that is on the block list', { dot_directories: ['.tekton'] }, /unblock_paths lifts it/],
    ["Git's own directory", { dot_directories: ['.git'] }, /no path can lie/],
    ['a pattern that looks ahead', { content_rules: [rule('a(?!b)')] }, /no regular expression of RE2/],
    ['a pattern that matches everything', { content_rules: [rule('a*')] }, /matches the empty text/],
    ['a policy for text that is none', { text: { mentions: 'drop' } }, /text\.mentions/],
  ])('refuse %s', (_title, project, message) => {
    expect(issues(project)).toEqual([expect.stringMatching(message)])
  })

  test('read strictly what a project does not say', () => {
    expect(mrConfigSchema.parse({ projects: [{ path: 'a/b' }] }).projects[0]).toMatchObject({
      binary_files: [],
      dot_directories: [],
      allow_secrets: [],
      content_rules: [],
      text: { mentions: 'neutralise', closing_words: 'neutralise', html: 'neutralise' },
    })
    expect(Object.keys(inspectionKeys)).toContain('review')
  })
})

function rule(pattern: string) {
  return { code: 'x', pattern, message: 'Mend it.' }
}
