import { describe, expect, test } from 'vitest'
import { mrBody } from '../../../test/support/mr-item.ts'
import { readShape } from '../../lib/read-shape.ts'
import { mrSubmissionSchema } from './schema.ts'

function findings(given: Readonly<Record<string, unknown>>) {
  const read = readShape(mrSubmissionSchema, mrBody(given))
  return read.ok ? [] : read.findings.map(({ code, path }) => `${code} ${path}`)
}

function action(given: object) {
  return findings({ file_actions: [given] })
}

describe('a submission', () => {
  test('needs little and gets sensible defaults', () => {
    expect(mrSubmissionSchema.parse(mrBody())).toEqual({
      ...mrBody(),
      file_actions: [{ action: 'create', file_path: 'docs/note.md', content: 'A note.\n', encoding: 'text' }],
      description: '',
      commit_message: 'Add a note',
      labels: [],
      assignees: [],
      reviewers: [],
      auto_merge: false,
      squash: false,
      remove_source_branch: true,
      force_overwrite: false,
    })
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['an unknown key', { auto_mrege: true }, 'unknown_field /auto_mrege'],
    ['another item type', { item_type: 'cve' }, 'invalid_value /item_type'],
    ['no title', { title: undefined }, 'required /title'],
    ['an empty title', { title: '' }, 'too_small /title'],
    ['a title that GitLab would refuse', { title: 'x'.repeat(255) }, 'too_big /title'],
    ['a title with NUL', { title: 'a\0b' }, 'invalid_text /title'],
    ['a lone surrogate', { description: '\ud800' }, 'invalid_text /description'],
    ['no file actions', { file_actions: [] }, 'too_small /file_actions'],
    ['a wrong type', { auto_merge: 'yes' }, 'invalid_type /auto_merge'],
    ['a user name that is none', { reviewers: ['@ann'] }, 'invalid_format /reviewers/0'],
  ])('with %s is refused', (_title, given, finding) => {
    expect(findings(given)).toContain(finding)
  })

  test.each(['a,b', 'a\nb', ' a', 'a ', 'a\u2028b', ''])(
    'takes no label %j, which GitLab would read as another',
    (label) => {
      expect(mrSubmissionSchema.safeParse(mrBody({ labels: [label] })).success).toBe(false)
    },
  )

  test('shows all its faults at once', () => {
    expect(findings({ title: '', squash: 1, extra: 1 })).toHaveLength(3)
  })
})

describe('a file action', () => {
  const file_path = 'a.txt'
  test.each<[string, object]>([
    ['create without content', { action: 'create', file_path }],
    ['create of an executable', { action: 'create', file_path, content: '', execute_filemode: true }],
    ['upsert', { action: 'upsert', file_path, content: 'x' }],
    ['update', { action: 'update', file_path, content: 'eA==', encoding: 'base64' }],
    ['delete', { action: 'delete', file_path }],
    ['move', { action: 'move', file_path, previous_path: 'b.txt' }],
    ['move with content', { action: 'move', file_path, previous_path: 'b.txt', content: 'x' }],
    ['chmod', { action: 'chmod', file_path, execute_filemode: true }],
  ])('%s is taken', (_title, given) => {
    expect(action(given)).toEqual([])
  })

  test.each<[string, object, string]>([
    ['an unknown action', { action: 'link', file_path }, '/file_actions/0/action'],
    ['update without content', { action: 'update', file_path }, '/file_actions/0/content'],
    ['move without its source', { action: 'move', file_path }, '/file_actions/0/previous_path'],
    ['chmod without a mode', { action: 'chmod', file_path }, '/file_actions/0/execute_filemode'],
    ['delete with content', { action: 'delete', file_path, content: '' }, '/file_actions/0/content'],
    ['update with a mode', { action: 'update', file_path, content: '', execute_filemode: true }, '/file_actions/0'],
    ['create with a source', { action: 'create', file_path, previous_path: 'b' }, '/file_actions/0/previous_path'],
    ['another encoding', { action: 'create', file_path, encoding: 'utf-16' }, '/file_actions/0/encoding'],
    ['no path', { action: 'delete', file_path: '' }, '/file_actions/0/file_path'],
  ])('%s is refused', (_title, given, path) => {
    expect(action(given).join()).toContain(path)
  })
})
