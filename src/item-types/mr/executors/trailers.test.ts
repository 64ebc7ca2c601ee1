import { expect, test } from 'vitest'
import { markedMessage, readMark } from './trailers.ts'

const MARK = { itemId: '01a22f1e-3ae8-7095-80ce-2f306ef152c9', commitHash: 'c'.repeat(64) }

test('a mark is read back from the message it was written into', () => {
  for (const message of ['Title', 'Title\n\nBody\n', 'Title\n\n\n', 'Title\n\nRefs: #1']) {
    expect(readMark(markedMessage(message, MARK))).toEqual(MARK)
    expect(readMark(markedMessage(message, MARK).trimEnd())).toEqual(MARK)
  }
})

test('a mark tells whose commit was written over', () => {
  const mark = { ...MARK, overwrote: 'a'.repeat(40) }
  expect(readMark(markedMessage('Title', mark))).toEqual(mark)
})

test("the caller's words come first and are made harmless", () => {
  expect(markedMessage('Title\r\n\r\n/merge\n', MARK)).toMatch(/^Title\n\n\\\/merge\n\nWorkqueue-Item: /)
})

test.each([
  '',
  'Title',
  `Workqueue-Item: ${MARK.itemId}\nWorkqueue-Content: ${MARK.commitHash}`,
  `${markedMessage('Title', MARK)}\nAnd more`,
  markedMessage('Title', MARK).replace(MARK.commitHash, 'not-a-hash'),
])('there is no mark in %j', (message) => {
  expect(readMark(message)).toBeNull()
})
