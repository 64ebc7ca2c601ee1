import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mrSubmission } from '../../../test/support/mr-item.ts'
import type { GitLabTreeEntry } from '../../gitlab/port.ts'
import { planFiles } from './file-plan.ts'
import type { TargetTree } from './target-tree.ts'

/** What git itself calls the blobs `hello\n`, `x\r\n` and `x\n`. */
const HELLO = 'ce013625030ba8dba906f756967f9e9ca394464a'
const X_CRLF = 'db127bf6be70c2285b1d852d39387a37b01c3032'
const X_LF = '587be6b4c3f93f93c489c0111bba5596147a26cb'
const HELLO_SHA256 = '2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4'

function tree(entries: Readonly<Record<string, Partial<GitLabTreeEntry>>>): TargetTree {
  const full = Object.entries(entries).map(([path, entry]) => {
    return [path, { path, type: 'blob', mode: '100644', id: HELLO, ...entry }] as const
  })
  return { entries: new Map(full), obstructed: new Map() }
}

function plan(actions: readonly object[], entries: Readonly<Record<string, Partial<GitLabTreeEntry>>> = {}) {
  return planFiles(mrSubmission({ file_actions: actions }).file_actions, tree(entries))
}

describe('planFiles', () => {
  test.each<[string, object, Partial<GitLabTreeEntry> | null, readonly string[]]>([
    ['creates what is missing', { action: 'create', content: 'x' }, null, ['create']],
    ['leaves a created file that is equal', { action: 'create', content: 'hello\n' }, {}, []],
    ['updates what differs', { action: 'update', content: 'x' }, {}, ['update']],
    ['leaves what is equal', { action: 'update', content: 'hello\n' }, {}, []],
    ['leaves equal base64', { action: 'update', content: 'aGVsbG8K', encoding: 'base64' }, {}, []],
    ['upserts as create', { action: 'upsert', content: 'x' }, null, ['create']],
    ['upserts as update', { action: 'upsert', content: 'x' }, {}, ['update']],
    ['upserts a mode alone', { action: 'upsert', content: 'hello\n', execute_filemode: true }, {}, ['chmod']],
    ['upserts content and mode', { action: 'upsert', content: 'x', execute_filemode: true }, {}, ['update', 'chmod']],
    ['keeps the mode without a wish', { action: 'upsert', content: 'x' }, { mode: '100755' }, ['update']],
    ['deletes what is there', { action: 'delete' }, {}, ['delete']],
    ['changes a mode', { action: 'chmod', execute_filemode: true }, {}, ['chmod']],
    ['leaves a mode', { action: 'chmod', execute_filemode: true }, { mode: '100755' }, []],
  ])('%s', (_title, action, entry, steps) => {
    const { actions, findings } = plan([{ file_path: 'a', ...action }], entry === null ? {} : { a: entry })
    expect(findings).toEqual([])
    expect(actions.map((step) => step.action)).toEqual(steps)
  })

  test.each<[string, object, Readonly<Record<string, Partial<GitLabTreeEntry>>>, string]>([
    ['create onto other content', { action: 'create', content: 'x' }, { a: {} }, 'file_exists'],
    ['create onto another mode', { action: 'create', content: 'hello\n' }, { a: { mode: '100755' } }, 'file_exists'],
    ['update of nothing', { action: 'update', content: 'x' }, {}, 'file_missing'],
    ['delete of nothing', { action: 'delete' }, {}, 'file_missing'],
    ['chmod of nothing', { action: 'chmod', execute_filemode: true }, {}, 'file_missing'],
    ['move of nothing', { action: 'move', previous_path: 'b' }, {}, 'file_missing'],
    ['move onto something', { action: 'move', previous_path: 'b' }, { a: {}, b: {} }, 'file_exists'],
    ['a symlink', { action: 'update', content: 'x' }, { a: { mode: '120000' } }, 'not_a_file'],
    ['a submodule', { action: 'upsert', content: 'x' }, { a: { type: 'commit', mode: '160000' } }, 'not_a_file'],
    ['a directory', { action: 'delete' }, { a: { type: 'tree', mode: '040000' } }, 'not_a_file'],
    ['a move of a symlink', { action: 'move', previous_path: 'b' }, { b: { mode: '120000' } }, 'not_a_file'],
  ])('refuses %s', (_title, action, entries, code) => {
    const { findings } = plan([{ file_path: 'a', ...action }], entries)
    expect(findings.map((finding) => finding.code)).toEqual([code])
  })

  test('refuses a path that runs through a file', () => {
    const obstacle: GitLabTreeEntry = { path: 'a', type: 'blob', mode: '100644', id: HELLO }
    const submission = mrSubmission({ file_actions: [{ action: 'create', file_path: 'a/b', content: '' }] })
    const { findings } = planFiles(submission.file_actions, {
      entries: new Map([['a/b', null]]),
      obstructed: new Map([['a/b', obstacle]]),
    })
    expect(findings).toMatchObject([{ code: 'not_a_file', path: '/file_actions/0/file_path' }])
  })

  test('shows all findings at once, each at its place', () => {
    const { findings } = plan([
      { action: 'update', file_path: 'a', content: 'x' },
      { action: 'move', file_path: 'b', previous_path: 'c' },
    ])
    expect(findings.map(({ path }) => path)).toEqual(['/file_actions/0/file_path', '/file_actions/1/previous_path'])
  })

  test('knows that GitLab stores text with line feeds', () => {
    const update = { action: 'update', file_path: 'a', content: 'x\r\n' }
    expect(plan([update], { a: { id: X_LF } }).actions).toEqual([])
    expect(plan([update], { a: { id: HELLO } }).expected.get('a')?.blobIds).toEqual([X_CRLF, X_LF])
  })

  test('knows the ids of a SHA-256 repository', () => {
    const update = { action: 'update', file_path: 'a', content: 'hello\n' }
    expect(plan([update], { a: { id: HELLO_SHA256 } }).actions).toEqual([])
  })

  test('a move keeps content and mode, and says what both ends hold afterwards', () => {
    const { actions, expected } = plan([{ action: 'move', file_path: 'a', previous_path: 'b' }], {
      b: { mode: '100755' },
    })
    expect(actions).toEqual([{ action: 'move', file_path: 'a', previous_path: 'b' }])
    expect(expected.get('a')).toEqual({ blobIds: [HELLO], mode: '100755' })
    expect(expected.get('b')).toBeNull()
  })

  test('every planned change is among the expected paths, and a plan on its own result is empty', () => {
    const change = fc.record({
      action: fc.constantFrom('create', 'upsert'),
      file_path: fc.constantFrom('a', 'b', 'c', 'd'),
      content: fc.constantFrom('', 'hello\n', 'x\r\ny', 'ü'),
      execute_filemode: fc.boolean(),
    })
    const changes = fc.uniqueArray(change, { selector: ({ file_path }) => file_path, minLength: 1 })
    fc.assert(
      fc.property(changes, (given) => {
        const first = plan(given)
        const after = [...first.expected].map(([path, wanted]) => {
          return [path, { id: wanted?.blobIds[0] ?? '', mode: wanted?.mode ?? '' }] as const
        })
        expect(first.actions.map(({ file_path }) => file_path)).toEqual(after.map(([path]) => path))
        expect(plan(given, Object.fromEntries(after)).actions).toEqual([])
      }),
    )
  })
})
