import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readLogTail } from './log-tail.ts'

const ESC = '\u001b'

test('reads a log as a person does: no colours, no marks, and what was written over is gone', () => {
  const log =
    `section_start:1700000000:step_script\r${ESC}[0K${ESC}[0K${ESC}[36;1mExecuting${ESC}[0;m\n` +
    `progress 10%\rprogress 100%\nwindows line\r\n` +
    `${ESC}]8;;https://example.com\u0007a link${ESC}]8;;\u0007\n` +
    `section_end:1700000001:step_script\r${ESC}[0K${ESC}[31;1mERROR: Job failed${ESC}[0;m\n`
  expect(readLogTail(log, true)).toBe('Executing\nprogress 100%\nwindows line\na link\nERROR: Job failed\n')
})

test('takes off the times that newer runners put before each line', () => {
  const log =
    `2026-03-02T10:00:00.123456Z 00O section_start:1700000000:get_sources\r${ESC}[0K\n` +
    `2026-03-02T10:00:01.123456Z 01E fatal: early EOF\n2026-03-02T10:00:01.123456Z 01E+ and more\n`
  expect(readLogTail(log, true)).toBe('\nfatal: early EOF\n and more\n')
})

test('drops the piece of a line with which a cut log begins', () => {
  expect(readLogTail('tal: early EOF\nfatal: done\n', false)).toBe('fatal: done\n')
})

test('leaves no escape that moves a cursor, whatever comes, and takes no longer for it', () => {
  const pieces = fc.constantFrom(ESC, `${ESC}[`, `${ESC}]`, '0;31m', '\r', '\n', 'section_start:1:', 'x', '\u0007')
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must be gone
      expect(readLogTail(parts.join(''), true)).not.toMatch(/\u001b\[[0-9;]*m|\r/)
    }),
  )
  const startedAt = performance.now()
  readLogTail(`${ESC}[${'0;'.repeat(100_000)}\n`.repeat(5), true)
  expect(performance.now() - startedAt).toBeLessThan(1_000)
})
