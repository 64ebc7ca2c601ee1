import { expect, test } from 'vitest'
import type { GitLabCommitAction, GitLabTreeEntry } from '../../../gitlab/port.ts'
import { changedBack } from './taken-back.ts'

type Tree = Readonly<Record<string, string>>

/** `content` or `content!` for an executable. */
function entries(tree: Tree): ReadonlyMap<string, GitLabTreeEntry | null> {
  const entry = (path: string, text: string): GitLabTreeEntry => ({
    path,
    type: 'blob',
    id: text.replace('!', ''),
    mode: text.endsWith('!') ? '100755' : '100644',
  })
  return new Map(Object.entries(tree).map(([path, text]) => [path, entry(path, text)]))
}

test.each<[string, GitLabCommitAction, Tree, Tree, readonly string[]]>([
  ['an update of what is as it was', { action: 'update', file_path: 'a', content: 'x' }, { a: '1' }, { a: '1' }, []],
  [
    'an update of what others changed',
    { action: 'update', file_path: 'a', content: 'x' },
    { a: '1' },
    { a: '2' },
    ['a'],
  ],
  ['an update, which keeps the mode', { action: 'update', file_path: 'a', content: 'x' }, { a: '1' }, { a: '1!' }, []],
  ['a create of what others deleted', { action: 'create', file_path: 'a', content: 'x' }, { a: '1' }, {}, ['a']],
  ['a create of what never was', { action: 'create', file_path: 'a', content: 'x' }, {}, {}, []],
  ['a delete of what others changed', { action: 'delete', file_path: 'a' }, { a: '1' }, { a: '2' }, ['a']],
  [
    'a mode that others set',
    { action: 'chmod', file_path: 'a', execute_filemode: false },
    { a: '1' },
    { a: '1!' },
    ['a'],
  ],
  [
    'a mode, which keeps the content',
    { action: 'chmod', file_path: 'a', execute_filemode: true },
    { a: '1' },
    { a: '2' },
    [],
  ],
  ['a move of what others changed', { action: 'move', file_path: 'b', previous_path: 'a' }, { a: '1' }, { a: '2' }, []],
  [
    'a move with a content of what others changed',
    { action: 'move', file_path: 'b', previous_path: 'a', content: 'x' },
    { a: '1' },
    { a: '2' },
    ['a'],
  ],
])('%s', (_title, action, were, are, paths) => {
  expect(changedBack([action], entries(were), entries(are))).toEqual(paths)
})
