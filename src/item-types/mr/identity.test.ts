import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mrSubmission } from '../../../test/support/mr-item.ts'
import { commitHashOf, contentHashOf, dedupKeyOf } from './identity.ts'

test('the dedup key names project and branch', () => {
  expect(dedupKeyOf(mrSubmission())).toBe('mr:Group/widgets:bot/change')
})

describe('the content hash', () => {
  const file_actions = ['a', 'b', 'c'].map((file_path) => ({ action: 'create', file_path, content: file_path }))

  test('ignores in which order files, labels and people are listed', () => {
    const names = fc.shuffledSubarray(['x', 'y', 'z'], { minLength: 3 })
    fc.assert(
      fc.property(fc.shuffledSubarray(file_actions, { minLength: 3 }), names, names, (files, labels, people) => {
        const given = { file_actions: files, labels, assignees: people, reviewers: people }
        const sorted = { file_actions, labels: ['x', 'y', 'z'], assignees: ['x', 'y', 'z'], reviewers: ['x', 'y', 'z'] }
        expect(contentHashOf(mrSubmission(given))).toBe(contentHashOf(mrSubmission(sorted)))
      }),
    )
  })

  test('does not tell a default from the same value spelt out', () => {
    const spelt = { description: '', commit_message: 'Add a note', labels: [], squash: false }
    expect(contentHashOf(mrSubmission(spelt))).toBe(contentHashOf(mrSubmission()))
  })

  test.each<[string, object]>([
    ['title', { title: 'Other' }],
    ['description', { description: 'Other' }],
    ['commit message', { commit_message: 'Other' }],
    ['target', { target_branch: 'main' }],
    ['labels', { labels: ['x'] }],
    ['reviewers', { reviewers: ['ann'] }],
    ['auto_merge', { auto_merge: true }],
    ['squash', { squash: true }],
    ['remove_source_branch', { remove_source_branch: false }],
    ['a file', { file_actions: [{ action: 'create', file_path: 'docs/note.md', content: 'Other' }] }],
    ['the mode of a file', { file_actions: [{ action: 'chmod', file_path: 'docs/note.md', execute_filemode: true }] }],
  ])('changes with the %s', (_title, given) => {
    expect(contentHashOf(mrSubmission({ ...given }))).not.toBe(contentHashOf(mrSubmission()))
  })
})

describe('the commit hash', () => {
  test.each<[string, object, boolean]>([
    ['stays with another title', { title: 'Other', commit_message: 'Add a note' }, true],
    ['stays with other labels', { labels: ['x'] }, true],
    ['changes with the commit message', { commit_message: 'Other' }, false],
    ['changes with a file', { file_actions: [{ action: 'delete', file_path: 'x' }] }, false],
  ])('%s', (_title, given, same) => {
    expect(commitHashOf(mrSubmission({ ...given }), 'main') === commitHashOf(mrSubmission(), 'main')).toBe(same)
  })

  test('changes with the target', () => {
    expect(commitHashOf(mrSubmission(), 'main')).not.toBe(commitHashOf(mrSubmission(), 'next'))
  })
})
