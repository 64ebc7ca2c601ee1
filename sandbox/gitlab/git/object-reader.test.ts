import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRepository, type Repository } from './repository.ts'
import { initRepository, moveBranch, writeCommit, writeObject } from './write.ts'

let directory: string
let repo: Repository

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sandbox-objects-'))
  await initRepository(join(directory, 'r.git'), 'main')
  repo = openRepository(join(directory, 'r.git'))
})

afterAll(async () => {
  await repo.objects.close()
  await rm(directory, { recursive: true, force: true })
})

test('many questions at once each get their own answer, whatever the size', async () => {
  const contents = Array.from({ length: 40 }, (_, index) => randomBytes(index % 4 === 0 ? 200_000 : index * 7))
  const shas = await Promise.all(contents.map((content) => writeObject(repo, 'blob', content)))
  const answers = await Promise.all(shas.map((sha) => repo.objects.read(sha)))
  expect(
    answers.map((answer) => answer?.content.equals(contents[shas.indexOf(answer.sha)] ?? Buffer.alloc(0))),
  ).toEqual(contents.map(() => true))
})

test('what is not there, and what cannot be a name, answers null', async () => {
  const blob = await writeObject(repo, 'blob', Buffer.from('x'))
  const answers = await Promise.all(
    ['refs/heads/none', 'f'.repeat(40), '', 'a\nb', `${blob}^{commit}`, 'HEAD'].map((name) => repo.objects.read(name)),
  )
  expect(answers).toEqual([null, null, null, null, null, null])
  expect(await repo.objects.info(blob)).toMatchObject({ sha: blob, type: 'blob' })
})

test('a branch is seen where it is now', async () => {
  const tree = await writeObject(repo, 'tree', Buffer.alloc(0))
  const who = { name: 'Ada', email: 'ada@example.org' }
  const commit = (message: string, parents: string[]) =>
    writeCommit(repo, { tree, parents, message, author: who, committer: who, date: new Date(0) })
  const first = await commit('one', [])
  const second = await commit('two', [first])
  await moveBranch(repo, 'main', '0'.repeat(40), first)
  expect((await repo.objects.info('refs/heads/main'))?.sha).toBe(first)
  expect(await moveBranch(repo, 'main', second, first)).toBe(false)
  expect(await moveBranch(repo, 'main', first, second)).toBe(true)
  expect((await repo.objects.info('refs/heads/main'))?.sha).toBe(second)
  expect(await repo.text(['fsck', '--strict', '--no-dangling'])).toBe('')
})
