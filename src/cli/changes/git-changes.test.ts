import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { applyFileActions } from '../../../test/support/apply-file-actions.ts'
import {
  createGitRepository,
  type Files,
  type GitRepository,
  lines,
  script,
  tree,
} from '../../../test/support/git-repository.ts'
import { messageOf, WorkQueueError } from '../../lib/errors.ts'
import type { FileChange } from './file-change.ts'
import { readGitChanges } from './git-changes.ts'

let repository: GitRepository

beforeEach(async () => {
  repository = await createGitRepository()
})
afterEach(() => repository.remove())

async function read(range: string, { worktree = false } = {}) {
  return readGitChanges(range, { worktree, measured: () => {} })
}

async function codeAndMessage(promise: Promise<unknown>): Promise<[string, string]> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  return [error instanceof WorkQueueError ? error.code : 'none', messageOf(error)]
}

/** Two commits, `main` and `work` on top of it. */
async function commitBoth(before: Files, after: Files): Promise<void> {
  await repository.commit('main', null, before)
  await repository.commit('work', 'main', after, 'Bring the change')
}

/** The actions, which must turn the tree of `main` into that of `work` exactly. */
async function actionsBetween(before: Files, after: Files): Promise<readonly unknown[]> {
  await commitBoth(before, after)
  const { fileActions } = await read('main..work')
  expect(applyFileActions(before, fileActions)).toEqual(after)
  return fileActions
}

describe('the changes of two commits', () => {
  test('are desired states where they can be, and actions where they must be', async () => {
    const before = tree({ 'a.md': 'a\n', 'b.md': lines(40), 'c.md': lines(40, 100), 'd.md': 'd\n', 'run.sh': 'x\n' })
    const after = tree({
      'a.md': 'A\n',
      'docs/b.md': lines(40),
      'docs/c.md': lines(41, 100),
      new: '',
      'run.sh': script('x\n'),
    })
    expect(await actionsBetween(before, after)).toEqual([
      { action: 'upsert', file_path: 'a.md', content: 'A\n' },
      { action: 'delete', file_path: 'd.md' },
      { action: 'move', previous_path: 'b.md', file_path: 'docs/b.md' },
      { action: 'move', previous_path: 'c.md', file_path: 'docs/c.md', content: lines(41, 100) },
      { action: 'upsert', file_path: 'new', content: '' },
      { action: 'chmod', file_path: 'run.sh', execute_filemode: true },
    ])
  })

  test('say the mode of what is or was executable, and split a move that changes it', async () => {
    const before = tree({ 'a.sh': script('1\n'), 'b.sh': script('1\n'), 'c.sh': script(lines(30)) })
    const after = tree({ 'a.sh': script('2\n'), 'b.sh': '2\n', 'd.sh': lines(30), 'e.sh': script('3\n') })
    expect(await actionsBetween(before, after)).toEqual([
      { action: 'upsert', file_path: 'a.sh', content: '2\n', execute_filemode: true },
      { action: 'upsert', file_path: 'b.sh', content: '2\n', execute_filemode: false },
      { action: 'delete', file_path: 'c.sh' },
      { action: 'upsert', file_path: 'd.sh', content: lines(30) },
      { action: 'upsert', file_path: 'e.sh', content: '3\n', execute_filemode: true },
    ])
  })

  test('send as base64 what is no text: NUL, and bytes that are not UTF-8', async () => {
    const [nul, latin, bom] = [Buffer.from('a\0b'), Buffer.from('Gr\xfc\xdfe', 'latin1'), Buffer.from('\ufeffa\r\n')]
    expect(await actionsBetween(new Map(), tree({ nul, latin, bom }))).toEqual([
      { action: 'upsert', file_path: 'bom', content: '\ufeffa\r\n' },
      { action: 'upsert', file_path: 'latin', content: latin.toString('base64'), encoding: 'base64' },
      { action: 'upsert', file_path: 'nul', content: nul.toString('base64'), encoding: 'base64' },
    ])
  })

  test('carry odd names as they are, also those that the service will refuse', async () => {
    const names = [
      'with space',
      '"quoted"',
      "it's",
      'tab\there',
      'line\nbreak',
      'grüße/日本.md',
      '-dash',
      'back\\slash',
    ]
    const after = new Map(names.map((name) => [name, script(`${name}\n`)]))
    await actionsBetween(new Map(), after)
  })

  test('are the same whatever the configuration says, and from any folder', async () => {
    const before = tree({ 'docs/b.md': lines(40), 'c.md': 'c\n' })
    await commitBoth(before, tree({ 'docs/d.md': lines(41), 'c.md': 'd\n' }))
    const plain = await read('main..work')
    const settings = {
      'diff.renames': 'false',
      'color.ui': 'always',
      'diff.external': 'false',
      'diff.noprefix': 'true',
    }
    const more = {
      'core.quotePath': 'true',
      'diff.renameLimit': '1',
      'log.showSignature': 'true',
      'diff.relative': 'true',
    }
    for (const [key, value] of Object.entries({ ...settings, ...more })) await repository.git(['config', key, value])
    await mkdir('docs')
    process.chdir('docs')
    expect(await read('main..work')).toEqual(plain)
  })

  test('take the title from the newest commit and the branch from the range', async () => {
    await commitBoth(tree({ a: '1' }), tree({ a: '2' }))
    expect(await read('main..work')).toMatchObject({ subject: 'Bring the change', branch: 'work' })
    await repository.git(['checkout', '--quiet', 'work'])
    expect(await read('main')).toMatchObject({ subject: 'Bring the change', branch: 'work' })
    await repository.git(['checkout', '--quiet', '--detach'])
    expect(await read('main')).toMatchObject({ branch: null })
    expect(await read('main..main')).toEqual({ fileActions: [], subject: null, branch: 'main' })
  })

  test('are measured before any content is read', async () => {
    await commitBoth(tree({ a: 'aaa', gone: 'x' }), tree({ a: 'bbbbb', c: 'cc' }))
    const seen: (readonly FileChange[])[] = []
    const measured = (_what: string, changes: readonly FileChange[]) => {
      seen.push(changes)
      throw new Error('too large')
    }
    await expect(readGitChanges('main..work', { worktree: false, measured })).rejects.toThrow('too large')
    expect(seen).toMatchObject([[{ bytes: 5 }, { bytes: 2 }, { action: 'delete' }]])
  })
})

describe('what no submission can carry', () => {
  test('is a symbolic link or a submodule, before or afterwards; all are named', async () => {
    await repository.commit('main', null, tree({ 'real.md': 'x\n', 'was-file': 'x\n' }))
    await repository.git(['checkout', '--quiet', 'main'])
    await symlink('real.md', 'link.md')
    await rm('was-file')
    await symlink('real.md', 'was-file')
    await repository.git(['update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},vendor/lib`])
    await repository.git(['add', 'link.md', 'was-file'])
    await repository.git(['commit', '--quiet', '-m', 'links'])
    const named = ['"link.md" is a symbolic link', '"vendor/lib" is a submodule', '"was-file" is a symbolic link']
    for (const range of ['HEAD~1..HEAD']) {
      const [code, message] = await codeAndMessage(read(range))
      expect(code).toBe('input_unsupported')
      for (const part of named) expect(message).toContain(part)
    }
    await repository.git(['rm', '--quiet', 'link.md'])
    await repository.git(['commit', '--quiet', '-m', 'remove it again'])
    expect((await codeAndMessage(read('HEAD~1')))[1]).toContain('"link.md" is a symbolic link')
  })

  test.each([
    ['a file that becomes a directory', tree({ a: '1' }), tree({ 'a/b': '2' })],
    ['a directory that becomes a file', tree({ 'a/b': '1', 'a/c': '3' }), tree({ a: '2' })],
  ])('is %s', async (_title, before, after) => {
    await commitBoth(before, after)
    const [code, message] = await codeAndMessage(read('main..work'))
    expect(code).toBe('input_unsupported')
    expect(message).toContain('"a" is a file on one side and a directory on the other')
  })

  test('is a name that is not UTF-8', async () => {
    await repository.commit('main', null, tree({ a: '1' }))
    const blob = await repository.git(['hash-object', '-w', '--stdin'], 'x')
    const mkTree = await repository.git(['mktree', '-z'], Buffer.from(`100644 blob ${blob}\tGr\xfc\xdfe\0`, 'latin1'))
    const commit = await repository.git(['commit-tree', mkTree, '-p', 'main', '-m', 'x'])
    const [code, message] = await codeAndMessage(read(`main..${commit}`))
    expect([code, message]).toEqual(['input_unsupported', expect.stringContaining('has a name that is not UTF-8')])
  })
})

describe('a base that has moved on', () => {
  test('is compared from where the branch left it, without what it has by now', async () => {
    const start = tree({ a: '1\n', b: '1\n', c: lines(30), d: 'd\n' })
    await repository.commit('start', null, start)
    const mine = tree({ a: '2\n', b: '2\n', e: lines(30), f: 'f\n' })
    await repository.commit('work', 'start', mine)
    await repository.commit('main', 'start', tree({ a: '1\n', b: '2\n', x: 'theirs\n', c: lines(30) }))
    expect((await read('main..work')).fileActions).toEqual([
      { action: 'upsert', file_path: 'a', content: '2\n' },
      { action: 'move', previous_path: 'c', file_path: 'e' },
      { action: 'upsert', file_path: 'f', content: 'f\n' },
    ])
  })

  test('splits a move of which it has one half', async () => {
    await repository.commit('start', null, tree({ a: lines(30) }))
    await repository.commit('work', 'start', tree({ b: lines(30) }))
    await repository.commit('main', 'start', tree({ a: lines(30), b: lines(30) }))
    expect((await read('main...work')).fileActions).toEqual([{ action: 'delete', file_path: 'a' }])
  })

  test('is told when the change would take back what it did', async () => {
    await repository.commit('start', null, tree({ a: '1\n', b: '1\n' }))
    await repository.commit('work', 'start', tree({ a: '2\n' }))
    await repository.commit('main', 'start', tree({ a: '3\n', b: '3\n' }))
    const [code, message] = await codeAndMessage(read('main..work'))
    expect(code).toBe('input_outdated')
    expect(message).toBe(
      'main has changed these files as well, and the submission would take that back; rebase onto it first:\n  "a"\n  "b"',
    )
  })

  test('says how to mend a clone that is too shallow', async () => {
    for (const [parent, name] of [
      [null, 'main'],
      ['main', 'other'],
      ['main', 'work'],
    ] as const) {
      await repository.commit(name, parent, tree({ [name]: name }))
    }
    const clone = await createGitRepository()
    await clone.git(['fetch', '--quiet', '--depth=1', `file://${repository.directory}`, 'work:work', 'other:other'])
    const ended = await codeAndMessage(read('other..work'))
    await clone.remove()
    expect(ended).toEqual(['input_unreadable', expect.stringContaining('in GitLab CI, set GIT_DEPTH to 0')])
  })
})

describe('the working tree', () => {
  test('is sent as a commit of all of it would be, and nothing is left in the repository', async () => {
    const before = tree({
      'a.md': 'a\n',
      'b.md': lines(40),
      'gone.md': 'x\n',
      '.gitignore': '*.log\n',
      'run.sh': 'x\n',
    })
    await repository.commit('main', null, before)
    await repository.git(['checkout', '--quiet', 'main'])
    await writeFile('a.md', 'committed\n')
    await repository.git(['commit', '--quiet', '--all', '-m', 'One more'])
    await writeFile('a.md', 'A\n')
    await repository.git(['mv', 'b.md', 'moved.md'])
    await rm('gone.md')
    await chmod('run.sh', 0o755)
    await writeFile('new.md', 'new\n')
    await writeFile('noise.log', 'no\n')
    const objects = async () => (await readdir('.git/objects', { recursive: true })).toSorted()
    const [status, index, stored] = [
      await repository.git(['status', '-z']),
      await readFile('.git/index'),
      await objects(),
    ]
    const { fileActions, subject } = await read('HEAD~1', { worktree: true })
    expect(subject).toBe('One more')
    expect(applyFileActions(before, fileActions)).toEqual(
      tree({
        'a.md': 'A\n',
        'moved.md': lines(40),
        'new.md': 'new\n',
        '.gitignore': '*.log\n',
        'run.sh': script('x\n'),
      }),
    )
    expect(await readFile('.git/index')).toEqual(index)
    expect(await objects()).toEqual(stored)
    expect(await repository.git(['status', '-z'])).toBe(status)
  })

  test('is refused in the middle of a merge, and names a repository inside it', async () => {
    await repository.commit('main', null, tree({ a: '1\n' }))
    await repository.commit('work', 'main', tree({ a: '2\n' }))
    await repository.git(['checkout', '--quiet', 'main'])
    await repository.git(['init', '--quiet', 'inner'])
    await repository.git(['-C', 'inner', 'commit', '--quiet', '--allow-empty', '-m', 'x'])
    expect((await codeAndMessage(read('HEAD', { worktree: true })))[1]).toContain('"inner" is a submodule')
    await rm('inner', { recursive: true })
    await writeFile('a', '3\n')
    await repository.git(['commit', '--quiet', '--all', '-m', 'other'])
    await repository.git(['merge', 'work']).catch(() => {})
    expect((await codeAndMessage(read('HEAD', { worktree: true })))[1]).toContain('in the middle of a merge')
  })

  test('goes with no other head', async () => {
    await commitBoth(tree({ a: '1' }), tree({ a: '2' }))
    expect((await codeAndMessage(read('main..work', { worktree: true })))[0]).toBe('bad_usage')
  })
})

test.each([
  ['nothing', 'bad_usage'],
  ['a..b..c', 'bad_usage'],
  ['..HEAD', 'bad_usage'],
  ['--output=x', 'bad_usage'],
  ['main..--all', 'bad_usage'],
  ['nowhere', 'input_unreadable'],
  ['main..nowhere', 'input_unreadable'],
])('refuses the range %j', async (range, code) => {
  await repository.commit('main', null, tree({ a: '1' }))
  expect((await codeAndMessage(read(range === 'nothing' ? '' : range)))[0]).toBe(code)
})

test('says that there is no repository', async () => {
  process.chdir('/')
  expect(await codeAndMessage(read('main'))).toEqual([
    'input_unreadable',
    expect.stringContaining('not a git repository'),
  ])
})
