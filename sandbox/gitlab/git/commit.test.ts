import { expect, test } from 'vitest'
import { parseCommit } from './commit.ts'

function commit(message: string, author = 'Ada L <ada@example.org> 1767225600 +0130') {
  return parseCommit(
    'a'.repeat(40),
    Buffer.from(`tree ${'b'.repeat(40)}\nauthor ${author}\ncommitter X <x> 0 -0800\n\n${message}`),
  )
}

test('people keep their time zones', () => {
  expect(commit('m').author).toEqual({
    name: 'Ada L',
    email: 'ada@example.org',
    date: '2026-01-01T01:30:00.000+01:30',
  })
  expect(commit('m').committer.date).toBe('1969-12-31T16:00:00.000-08:00')
})

test.each<[string, string, readonly (readonly [string, string])[]]>([
  [
    'are read from the last paragraph',
    'T\n\nBody: no\n\nA: 1\nB-c: 2\nA: 3\n',
    [
      ['A', '1'],
      ['B-c', '2'],
      ['A', '3'],
    ],
  ],
  ['go on in indented lines', 'T\n\nA: 1\n  more\n', [['A', '1 more']]],
  ['are none when other text is among them', 'T\n\nA: 1\nand so on\n', []],
  ['are none in a title', 'fix: it\n', []],
])('trailers %s', (_title, message, expected) => {
  expect(commit(message).trailers).toEqual(expected)
})

test('a signature in the head is no part of the message', () => {
  const signed = parseCommit('a'.repeat(40), Buffer.from('tree b\ngpgsig -----BEGIN\n \n -----END\n\nTitle\n\nBody\n'))
  expect(signed).toMatchObject({ title: 'Title', message: 'Title\n\nBody\n' })
})
