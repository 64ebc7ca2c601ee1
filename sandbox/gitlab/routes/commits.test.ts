import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listBranches, ZERO_SHA } from '../git/repository.ts'
import { editTree } from '../git/tree-editor.ts'
import { moveBranch, writeCommit } from '../git/write.ts'
import type { Push } from '../state.ts'
import { startTestServer, type TestServer } from '../test-server.ts'

const BINARY = Buffer.from([0, 1, 2, 13, 10, 255, 254, 13, 10])

let server: TestServer

beforeAll(async () => {
  server = await startTestServer({
    files: {
      'README.md': '# Widgets\n',
      'src/a.txt': 'a\n',
      'src/deep/b.txt': 'b\n',
      'bin/run': { content: '#!/bin/sh\n', executable: true },
      'logo.png': BINARY,
    },
  })
})

afterAll(() => server.remove())

let last = 0

/** Commits actions onto a fresh branch from main. */
async function act(actions: readonly unknown[], more: Readonly<Record<string, unknown>> = {}) {
  const branch = `try-${++last}`
  const body = { branch, start_branch: 'main', commit_message: 'Try', actions, ...more }
  return { branch: String(body.branch), answer: await server.call('POST', '/repository/commits', body) }
}

/** `mode path` of every file of a branch. */
async function modes(branch: string): Promise<string[]> {
  const { list } = await server.call('GET', `/repository/tree?ref=${branch}&recursive=true&per_page=100`)
  return list.filter((entry) => entry['type'] === 'blob').map((entry) => `${entry['mode']} ${entry['path']}`)
}

async function bytes(branch: string, path: string): Promise<Buffer> {
  return (await server.call('GET', `/repository/files/${encodeURIComponent(path)}/raw?ref=${branch}`)).bytes
}

const create = (file_path: string, content = 'x\n') => ({ action: 'create', file_path, content })

describe('the five actions', () => {
  test('a commit of all five leaves exactly these bytes and modes', async () => {
    const { branch, answer } = await act([
      { action: 'create', file_path: 'new/exec.sh', content: 'echo\n', execute_filemode: true },
      { action: 'update', file_path: 'README.md', content: 'updated\n' },
      { action: 'move', previous_path: 'bin/run', file_path: 'tools/run' },
      { action: 'delete', file_path: 'src/deep/b.txt' },
      { action: 'chmod', file_path: 'src/a.txt', execute_filemode: true },
      { action: 'create', file_path: 'data.bin', content: BINARY.toString('base64'), encoding: 'base64' },
    ])
    expect(answer.status).toBe(201)
    expect(answer.json).toMatchObject({ title: 'Try', stats: { additions: 2, deletions: 2, total: 4 } })
    expect((await modes(branch)).sort()).toEqual([
      '100644 README.md',
      '100644 data.bin',
      '100644 logo.png',
      '100755 new/exec.sh',
      '100755 src/a.txt',
      '100755 tools/run',
    ])
    expect(await bytes(branch, 'data.bin')).toEqual(BINARY)
    expect(await bytes(branch, 'logo.png')).toEqual(BINARY)
    expect(String(await bytes(branch, 'tools/run'))).toBe('#!/bin/sh\n')
    expect(await server.context.git(server.project).text(['fsck', '--strict', '--no-dangling'])).toBe('')
  })

  test('a move with content takes it and keeps the mode', async () => {
    const { branch } = await act([{ action: 'move', previous_path: 'bin/run', file_path: 'run', content: 'new\n' }])
    expect(await modes(branch)).toContain('100755 run')
    expect(String(await bytes(branch, 'run'))).toBe('new\n')
  })

  test('update keeps the mode and ignores execute_filemode', async () => {
    const { branch } = await act([
      { action: 'update', file_path: 'bin/run', content: 'new\n', execute_filemode: false },
    ])
    expect(await modes(branch)).toContain('100755 bin/run')
  })

  test('create without content makes an empty file', async () => {
    const { branch } = await act([{ action: 'create', file_path: 'empty' }])
    expect((await bytes(branch, 'empty')).length).toBe(0)
  })

  test('create and move onto a directory replace it', async () => {
    const created = await act([create('src')])
    expect(await modes(created.branch)).toEqual(expect.arrayContaining(['100644 src']))
    expect((await modes(created.branch)).some((line) => line.includes('src/'))).toBe(false)
    const moved = await act([{ action: 'move', previous_path: 'README.md', file_path: 'src' }])
    expect(String(await bytes(moved.branch, 'src'))).toBe('# Widgets\n')
  })

  test('delete takes a directory whole, and the emptied directories above', async () => {
    const { branch } = await act([{ action: 'delete', file_path: 'src' }])
    expect((await modes(branch)).some((line) => line.includes('src'))).toBe(false)
  })

  test('each action sees what those before it left', async () => {
    const { branch, answer } = await act([
      create('one'),
      { action: 'update', file_path: 'one', content: 'two\n' },
      { action: 'move', previous_path: 'one', file_path: 'three' },
      create('one', 'again\n'),
    ])
    expect(answer.status).toBe(201)
    expect(String(await bytes(branch, 'three'))).toBe('two\n')
    expect(String(await bytes(branch, 'one'))).toBe('again\n')
  })

  test('text is stored with LF, binary content as it is', async () => {
    const { branch } = await act([
      create('text', 'a\r\nb\r\n'),
      { action: 'create', file_path: 'coded', content: Buffer.from('a\r\nb').toString('base64'), encoding: 'base64' },
      { action: 'create', file_path: 'bin2', content: BINARY.toString('base64'), encoding: 'base64' },
    ])
    expect(String(await bytes(branch, 'text'))).toBe('a\nb\n')
    expect(String(await bytes(branch, 'coded'))).toBe('a\nb')
    expect(await bytes(branch, 'bin2')).toEqual(BINARY)
  })

  test('paths are cleaned before use', async () => {
    const { branch } = await act([create('/lead/./x/../y'), create('sub/.git/config')])
    expect(await modes(branch)).toEqual(expect.arrayContaining(['100644 lead/y', '100644 sub/.git/config']))
  })

  test('a commit that changes nothing is accepted', async () => {
    const { answer } = await act([{ action: 'update', file_path: 'src/a.txt', content: 'a\n' }])
    expect(answer.status).toBe(201)
    expect(answer.json['stats']).toEqual({ additions: 0, deletions: 0, total: 0 })
  })
})

describe('where a commit starts', () => {
  test('force with start_sha replaces the branch by one commit on that sha', async () => {
    const { branch, answer } = await act([create('first')])
    const start_sha = String((answer.json['parent_ids'] as string[])[0])
    const again = await act([create('second')], { branch, start_branch: undefined, start_sha, force: true })
    expect(again.answer.status).toBe(201)
    expect(again.answer.json['parent_ids']).toEqual([start_sha])
    expect((await modes(branch)).some((line) => line.endsWith(' first'))).toBe(false)
  })

  test('the author can be named, the committer is the user', async () => {
    const { answer } = await act([create('x')], { author_name: 'Ada', author_email: 'ada@example.org' })
    expect(answer.json).toMatchObject({
      author_name: 'Ada',
      author_email: 'ada@example.org',
      committer_name: 'maintainer',
    })
  })

  test('the message comes back as sent, trailers are read from it', async () => {
    const commit_message = 'Title\n\nBody\n\nWorkqueue-Item: 1\n'
    const { answer } = await act([create('x')], { commit_message })
    expect(answer.json).toMatchObject({ message: commit_message, trailers: { 'Workqueue-Item': '1' } })
  })

  test('one push follows, from zeros for a new branch', async () => {
    const pushes: Push[] = []
    server.context.signals.on('push', (push) => pushes.push(push))
    const { branch, answer } = await act([create('x')])
    expect(pushes).toEqual([
      expect.objectContaining({
        branch,
        before: ZERO_SHA,
        after: answer.json['id'],
        userId: server.users.maintainer.id,
      }),
    ])
  })

  test('last_commit_id of the last change passes, of an older commit does not', async () => {
    const { branch, answer } = await act([{ action: 'update', file_path: 'README.md', content: '2\n' }])
    const current = String(answer.json['id'])
    const stale = String((answer.json['parent_ids'] as string[])[0])
    const update = (last_commit_id: string) =>
      server.call('POST', '/repository/commits', {
        branch,
        commit_message: 'x',
        actions: [{ action: 'update', file_path: 'README.md', content: '3\n', last_commit_id }],
      })
    const refused = await update(stale)
    expect(refused.status).toBe(400)
    expect(refused.json).toEqual({ message: 'The file has changed since you started editing it: README.md' })
    expect((await update(current)).status).toBe(201)
  })
})

const bad = (key: string, rest: string) => `400 Bad request - actions[0][${key}] ${rest}`
const on = (action: string, more: object = {}) => ({ actions: [{ action, file_path: 'README.md', ...more }] })

test.each<[string, Record<string, unknown>, string]>([
  ['no branch', { branch: '' }, '400 Bad request - branch is required'],
  ['a blank message', { commit_message: ' ' }, '400 Bad request - commit_message is required'],
  ['no actions', { actions: [] }, '400 Bad request - actions is required'],
  ['two starts', { start_sha: 'f'.repeat(40) }, '400 Bad request - start_branch, start_sha are mutually exclusive'],
  ['an action without a name', { actions: [{ file_path: 'x' }] }, bad('action', 'is required')],
  ['an action without a path', { actions: [{ action: 'create' }] }, bad('file_path', 'is required')],
  ['an unknown action', on('upsert'), bad('action', 'must be one of: create, update, move, delete, chmod')],
  ['an unknown encoding', on('update', { content: '', encoding: 'x' }), bad('encoding', 'must be text or base64')],
  ['an update without content', on('update'), bad('content', 'is required for update action')],
  ['a move from nowhere', on('move'), bad('previous_path', 'is required for move action')],
  ['a chmod without a mode', on('chmod'), bad('execute_filemode', 'is required for chmod action')],
  ['a mode that is none', on('chmod', { execute_filemode: 'x' }), bad('execute_filemode', 'must be a boolean')],
  ['a missing start branch', { start_branch: 'gone' }, 'You can only create or edit files when you are on a branch'],
  [
    'an existing branch without force',
    { branch: 'taken' },
    "A branch called 'taken' already exists. Switch to that branch in order to make changes",
  ],
  [
    'a bad branch name',
    { branch: 'a..b' },
    "Something went wrong when we tried to create 'a..b' for you: Branch name is invalid",
  ],
  ['a short start_sha', { start_branch: undefined, start_sha: 'abc' }, "Invalid start_sha 'abc'"],
  [
    'an unknown start_sha',
    { start_branch: undefined, start_sha: 'f'.repeat(40) },
    `Cannot find start_sha '${'f'.repeat(40)}'`,
  ],
  ['create on a file', on('create'), 'A file with this name already exists'],
  [
    'move onto a file',
    { actions: [{ action: 'move', previous_path: 'bin/run', file_path: 'README.md' }] },
    'A file with this name already exists',
  ],
  [
    'update of nothing',
    { actions: [{ action: 'update', file_path: 'no', content: '' }] },
    "A file with this name doesn't exist",
  ],
  ['delete of nothing', { actions: [{ action: 'delete', file_path: 'no' }] }, "A file with this name doesn't exist"],
  [
    'chmod of nothing',
    { actions: [{ action: 'chmod', file_path: 'no', execute_filemode: true }] },
    "A file with this name doesn't exist",
  ],
  [
    'move of a directory',
    { actions: [{ action: 'move', previous_path: 'src', file_path: 'lib' }] },
    "A file with this name doesn't exist",
  ],
  ['a path that leaves the root', { actions: [create('a/../../x')] }, 'Path cannot include directory traversal'],
  ['a path of nothing', { actions: [create('/')] }, 'You must provide a file path'],
  ['a double slash', { actions: [create('a//b')] }, "invalid path: 'a//b'"],
  ['a .git path', { actions: [create('.git/hooks/x')] }, "invalid path: '.git/hooks/x'"],
])('%s is refused and leaves no trace', async (_title, change, message) => {
  const repo = server.context.git(server.project)
  if (change['branch'] === 'taken') await server.call('POST', '/repository/branches', { branch: 'taken', ref: 'main' })
  const before = await listBranches(repo)
  const { answer } = await act([create('fresh.txt')], change)
  expect(answer.status).toBe(400)
  expect(answer.json).toEqual({ message })
  expect(await listBranches(repo)).toEqual(before)
})

test('a later action that fails takes the earlier ones with it', async () => {
  const { branch, answer } = await act([create('ok'), { action: 'delete', file_path: 'missing' }])
  expect(answer.status).toBe(400)
  expect((await server.call('GET', `/repository/branches/${branch}`)).status).toBe(404)
})

describe('special entries', () => {
  beforeAll(async () => {
    const repo = server.context.git(server.project)
    const main = String(((await server.call('GET', '/repository/branches/main')).json['commit'] as { id: string }).id)
    const tree = editTree(repo, main)
    await tree.put('link', { mode: '120000', sha: null, content: Buffer.from('README.md') })
    await tree.put('module', { mode: '160000', sha: main, content: null })
    const nobody = { name: 'n', email: 'n' }
    const message = 'Special'
    const date = server.clock.now()
    const root = await tree.write()
    const commit = { tree: root, parents: [main], message, author: nobody, committer: nobody, date }
    await moveBranch(repo, 'special', ZERO_SHA, await writeCommit(repo, commit))
  })

  const start = { start_branch: 'special' }

  test('a symbolic link stays one when updated or moved', async () => {
    const { branch } = await act([{ action: 'update', file_path: 'link', content: 'src' }], start)
    const { list } = await server.call('GET', `/repository/tree?ref=${branch}`)
    expect(list.find((entry) => entry['path'] === 'link')).toMatchObject({ mode: '120000', type: 'blob' })
    const moved = await act([{ action: 'move', previous_path: 'link', file_path: 'link2' }], start)
    const { list: after } = await server.call('GET', `/repository/tree?ref=${moved.branch}`)
    expect(after.find((entry) => entry['path'] === 'link2')).toMatchObject({ mode: '120000' })
  })

  test('a submodule is in the tree, is no file, and can be deleted', async () => {
    const { list } = await server.call('GET', '/repository/tree?ref=special')
    expect(list.find((entry) => entry['path'] === 'module')).toMatchObject({ mode: '160000', type: 'commit' })
    const update = await act([{ action: 'update', file_path: 'module', content: 'x' }], start)
    expect(update.answer.json).toEqual({ message: "A file with this name doesn't exist" })
    expect((await act([{ action: 'delete', file_path: 'module' }], start)).answer.status).toBe(201)
  })

  test('a path through a file is refused', async () => {
    const { answer } = await act([create('README.md/x')])
    expect([answer.status, answer.json]).toEqual([400, { message: 'A file with this name already exists' }])
  })
})

test('a start from a project that is no fork is refused', async () => {
  const other = await server.call('POST', '//projects', { path: 'elsewhere' })
  const { answer } = await act([create('x')], { start_project: other.json['id'] })
  expect([answer.status, answer.json]).toEqual([
    403,
    { message: '403 Forbidden - Project is not included in the fork network for Widgets' },
  ])
})

test('a body that is not JSON is told apart', async () => {
  const answer = await server.raw(`/api/v4/projects/${server.project.id}/repository/commits`, {
    method: 'POST',
    headers: { 'private-token': 'token-of-maintainer', 'content-type': 'application/json' },
    body: '{"branch":',
  })
  expect(answer.status).toBe(400)
  expect(answer.json).toEqual({ message: 'Invalid json', error: 'Invalid json' })
})

test('the right to push is checked before the parameters', async () => {
  const answer = await server.call('POST', '/repository/commits', { branch: 'main' }, 'developer')
  expect(answer.status).toBe(403)
  expect(answer.json).toEqual({ message: '403 Forbidden - You are not allowed to push into this branch' })
})

test('commits at the same time on one branch all land, each on the other', async () => {
  const branch = 'crowd'
  await server.call('POST', '/repository/branches', { branch, ref: 'main' })
  const one = (number: number) =>
    server.call('POST', '/repository/commits', {
      branch,
      commit_message: `${number}`,
      actions: [create(`n/${number}`)],
    })
  const answers = await Promise.all(Array.from({ length: 6 }, (_, number) => one(number)))
  expect(answers.map((answer) => answer.status)).toEqual(Array(6).fill(201))
  expect((await modes(branch)).filter((line) => line.includes(' n/'))).toHaveLength(6)
})

test('forms are read like JSON', async () => {
  const form = new URLSearchParams()
  form.set('branch', 'from-form')
  form.set('start_branch', 'main')
  form.set('commit_message', 'Form')
  for (const name of ['one', 'two']) {
    form.append('actions[][action]', 'create')
    form.append('actions[][file_path]', name)
    form.append('actions[][content]', name)
  }
  const answer = await server.raw(`/api/v4/projects/${server.project.id}/repository/commits`, {
    method: 'POST',
    headers: { authorization: 'Bearer token-of-maintainer' },
    body: form,
  })
  expect(answer.status).toBe(201)
  expect(String(await bytes('from-form', 'two'))).toBe('two')
})
