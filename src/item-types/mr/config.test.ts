import { describe, expect, test } from 'vitest'
import { mrConfigSchema } from './config.ts'

const issues = (input: unknown) =>
  mrConfigSchema.safeParse(input).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? []

describe('mrConfigSchema', () => {
  test('reads what is built after the merge, and refuses a component twice', () => {
    const read = (components: readonly object[]) =>
      mrConfigSchema.safeParse({ projects: [{ path: 'a/b', components }] })
    const given = [{ name: 'api' }, { name: 'web', timeout: '10m', on_timeout: 'complete' }]
    expect(read(given).data?.projects[0]?.components).toEqual([
      { name: 'api', timeout: 7_200_000, on_failure: 'fail', on_timeout: 'fail' },
      { name: 'web', timeout: 600_000, on_failure: 'fail', on_timeout: 'complete' },
    ])
    expect(read([{ name: 'api' }, { name: 'api' }]).error?.message).toContain('listed twice')
    expect(read([{ name: 'Not a name' }]).success).toBe(false)
  })

  test('reads a project that is only named strictly', () => {
    expect(mrConfigSchema.parse({ projects: [{ path: 'group/name' }] })).toEqual({
      projects: [
        {
          path: 'group/name',
          source_branches: ['**'],
          block_paths: [],
          unblock_paths: [],
          any_characters_in_paths: false,
          dot_directories: [],
          binary_files: [],
          lfs_pointers: false,
          hidden_characters_in: [],
          allow_secrets: [],
          components: [],
          content_rules: [],
          text: { mentions: 'neutralise', closing_words: 'neutralise', html: 'neutralise' },
          pipeline: {
            none: 'wait',
            skipped: 'wait',
            manual: 'wait',
            external: 'ignore',
            children: 'require',
            merged_results: 'accept',
          },
          hold_labels: ['do-not-merge'],
          freeze: [],
          note: true,
          herder: { matchers: [] },
        },
      ],
      limits: { max_actions: 200, max_file_bytes: 1_048_576, max_total_bytes: 5_242_880, inspection_budget: 5_000 },
      reconcile_interval: 300_000,
      pipeline_poll: 30_000,
      empty_check_interval: 1_800_000,
      herder: {
        ...{ enabled: true, matchers: [], built_in_matchers: true, max_retries: 2, delay: 30_000, max_delay: 600_000 },
        ...{ budget: 20, breaker: { failures: 40, window: 600_000 }, log_tail_bytes: 65_536, remember: 7_776_000_000 },
      },
    })
  })

  test.each<[string, object, RegExp]>([
    ['a path without a group', { path: 'name' }, /^projects\.0\.path: expected the full path/],
    ['a path with dots', { path: 'group/../name' }, /^projects\.0\.path/],
    ['a lifted entry that is none', { path: 'a/b', unblock_paths: ['.tekton/'] }, /unblock_paths\.0: .*spelt exactly/],
    ['a negated pattern', { path: 'a/b', block_paths: ['!x'] }, /block_paths\.0: the pattern starts with !/],
    ['an absolute pattern', { path: 'a/b', allow_paths: ['/x'] }, /allow_paths\.0/],
    ['an empty allow list', { path: 'a/b', allow_paths: [] }, /allow_paths/],
    ['an unknown key', { path: 'a/b', block_path: [] }, /block_path/],
    ['a review by nobody', { path: 'a/b', review: { paths: ['x'] } }, /review: expected group or users/],
    ['a pipeline policy of its own', { path: 'a/b', pipeline: { none: 'maybe' } }, /pipeline\.none/],
    ['half a freeze', { path: 'a/b', freeze: [{ from: 'fri 16:00' }] }, /freeze\.0\.to/],
  ])('refuses %s', (_title, project, message) => {
    expect(issues({ projects: [project] })).toEqual([expect.stringMatching(message)])
  })

  test('refuses a project that is listed twice', () => {
    expect(issues({ projects: [{ path: 'a/b' }, { path: 'A/B' }] })).toEqual([expect.stringContaining('twice')])
  })
})
