import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { storedBytes } from './autocrlf.ts'
import { openRepository, type Repository } from './repository.ts'
import { initRepository, writeObject } from './write.ts'

let directory: string
let repo: Repository

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sandbox-autocrlf-'))
  await initRepository(join(directory, 'r.git'), 'main')
  repo = openRepository(join(directory, 'r.git'))
})

afterAll(() => rm(directory, { recursive: true, force: true }))

test.each<[string, Buffer]>([
  ['text with CRLF', Buffer.from('a\r\nb\r\n')],
  ['mixed line ends', Buffer.from('a\r\nb\nc')],
  ['a lone CR', Buffer.from('a\rb\r\n')],
  ['a CR at the end', Buffer.from('a\r\nb\r')],
  ['a NUL', Buffer.from('a\0\r\n')],
  ['a control among little text', Buffer.from('abc\x01\r\n')],
  ['a control among much text', Buffer.from(`${'x'.repeat(128)}\x01\r\n`)],
  ['a control one byte short of enough text', Buffer.from(`${'x'.repeat(127)}\x01\r\n`)],
  ['printable controls', Buffer.from('\b\t\x1b\f\r\n')],
  ['an end-of-file mark', Buffer.from('a\r\n\x1a')],
  ['DEL', Buffer.from('a\x7f\r\n')],
  ['high bytes', Buffer.from([0xff, 0xfe, 13, 10])],
  ['nothing', Buffer.alloc(0)],
])('%s is stored as git stores it', async (_title, content) => {
  const byGit = await repo.text(['-c', 'core.autocrlf=input', 'hash-object', '--stdin', '--path=x'], { input: content })
  expect(await writeObject(repo, 'blob', storedBytes(content))).toBe(byGit)
})
