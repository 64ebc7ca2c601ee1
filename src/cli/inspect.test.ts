import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { aNote, startTestApi, type TestApi } from '../../test/support/api.ts'
import { FakeQueue } from '../../test/support/fake-queue.ts'
import { createGitRepository, tree } from '../../test/support/git-repository.ts'
import { startWq } from '../../test/support/wq.ts'
import type { Inspection } from '../queue/work-queue.ts'
import { inspectionText } from './describe-inspection.ts'
import { nameFiles } from './name-files.ts'
import { createOutput } from './output.ts'

let api: TestApi
let directory: string
let bodies: unknown[]
let answer: Inspection

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wq-inspect-'))
  bodies = []
  answer = { outcome: 'created', findings: [], policy: {}, changes: [] }
  const inspect = async (_type: string, body: unknown) => {
    bodies.push(body)
    return answer
  }
  api = await startTestApi({ queue: Object.assign(new FakeQueue(), { inspect }) })
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  return async () => {
    await api.app.close()
    await rm(directory, { recursive: true, force: true })
  }
})

function wq(args: readonly string[], input = '', cwd = directory) {
  const address = api.app.server.address()
  const url = typeof address === 'object' ? `http://127.0.0.1:${address?.port}` : ''
  return startWq(['inspect', ...args], { env: { WQ_URL: url, WQ_TOKEN: api.tokens.all.token }, cwd, input }).ended
}

describe('wq inspect', () => {
  test('says that a submission would be accepted, and what it would change', async () => {
    answer = {
      ...answer,
      policy: { auto_merge: 'after one approval' },
      changes: [
        { path: 'a.md', change: 'update', bytes: 3, mode: '100644', diff: '@@ -1 +1 @@\n-a\n+\u001b[31mb\n' },
        { path: 'c.sh', previous_path: 'b.sh', change: 'move', bytes: 2_048, mode: '100755' },
      ],
    }
    const { status, out, err } = await wq(['-'], JSON.stringify(aNote))
    expect([status, err]).toEqual([0, ''])
    expect(out.split('\n')).toEqual([
      'accepted  It would become a new work item.',
      '',
      'Changes in the target',
      '  update  a.md         3 bytes',
      '    @@ -1 +1 @@',
      '    -a',
      '    + [31mb',
      '  move    b.sh → c.sh  2 KiB, executable',
      '',
      'Rules that hold',
      '  auto_merge: after one approval',
      '',
    ])
    expect(bodies).toEqual([aNote])
    expect(api.queue.calls).toEqual([])
  })

  test('ends like a refused submission when there are findings, in words and in JSON', async () => {
    answer = { ...answer, outcome: null, findings: [{ code: 'x', path: '/text', message: 'It is too long.' }] }
    const people = await wq(['-'], JSON.stringify(aNote))
    expect([people.status, people.out]).toEqual([8, ''])
    expect(people.err).toBe('error: The service would refuse the submission:\n  /text  It is too long.\n')
    const programs = await wq(['-', '--json'], JSON.stringify(aNote))
    expect([programs.status, programs.err]).toEqual([8, ''])
    expect(JSON.parse(programs.out)).toEqual(answer)
  })

  test('takes commits like wq submit, and names the files that findings are about', async () => {
    const repository = await createGitRepository()
    await repository.commit('main', null, tree({ 'a.md': '1\n' }))
    await repository.commit('work', 'main', tree({ 'a.md': '1\n', 'b.bin': Buffer.from([0]) }))
    answer = { ...answer, findings: [{ code: 'x', path: '/file_actions/0/content', message: 'It is binary.' }] }
    const args = ['--from-git', 'main..work', '--project', 'g/p']
    const { status, err } = await wq(args, '', repository.directory)
    await repository.remove()
    expect(status).toBe(8)
    expect(err).toContain('  /file_actions/0/content  "b.bin": It is binary.\n')
    expect(bodies).toMatchObject([{ item_type: 'mr', project: 'g/p', source_branch: 'work' }])
  })
})

test.each([
  ['created', 'a new work item'],
  ['updated', 'at work for this branch'],
  ['unchanged', 'nothing would happen'],
  ['retried', 'the failed work item'],
] as const)('an outcome %s is told in words', (outcome, words) => {
  const text = inspectionText({ outcome, findings: [], policy: {}, changes: [] }, createOutput().colors)
  expect(text).toEqual([expect.stringContaining(words)])
})

test('a finding that names its file, or is about none, stays as it is', () => {
  const submission = { file_actions: [{ file_path: 'a.md' }] }
  const findings = [
    { code: 'x', path: '/file_actions/0/file_path', message: 'The path "a.md" is blocked.' },
    { code: 'x', path: '/file_actions', message: 'Too many.' },
    { code: 'x', path: '/file_actions/7', message: 'What?' },
  ]
  expect(nameFiles(findings, submission)).toEqual(findings)
  expect(nameFiles(findings, 'nonsense')).toEqual(findings)
})
