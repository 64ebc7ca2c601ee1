import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createGitRepository, type GitRepository, tree } from '../../test/support/git-repository.ts'
import { startWq } from '../../test/support/wq.ts'
import { mrSubmissionSchema } from '../item-types/mr/schema.ts'

let repository: GitRepository

beforeEach(async () => {
  repository = await createGitRepository()
  await repository.commit('main', null, tree({ 'a.md': '1\n' }))
  await repository.commit('updates/one', 'main', tree({ 'a.md': '2\n' }), 'Say two')
  await repository.git(['checkout', '--quiet', 'updates/one'])
})
afterEach(() => repository.remove())

const git = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }

function wq(args: readonly string[], env: Readonly<Record<string, string>> = {}, cwd = repository.directory) {
  return startWq(args, { env: { ...git, ...env }, cwd }).ended
}

/** What would be sent. */
async function submissionOf(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<object> {
  const { status, out, err } = await wq(['submit', ...args, '--dry-run'], env)
  if (status !== 0) throw new Error(err)
  const submission: object = JSON.parse(out)
  mrSubmissionSchema.parse(submission)
  return submission
}

describe('wq submit --from-git', () => {
  test('makes a whole submission of a range and a project, and says how large it is', async () => {
    const { status, out, err } = await wq(['submit', '--from-git', 'main', '--project', 'g/p', '--dry-run'])
    expect([status, err]).toEqual([0, 'main..HEAD: 1 file (1 upsert), 2 bytes\n'])
    expect(JSON.parse(out)).toEqual({
      item_type: 'mr',
      project: 'g/p',
      source_branch: 'updates/one',
      title: 'Say two',
      file_actions: [{ action: 'upsert', file_path: 'a.md', content: '2\n' }],
    })
  })

  test('takes everything else from options', async () => {
    const args = [
      '--from-git',
      'main',
      '--project',
      'g/p',
      '--source-branch',
      's',
      '--target-branch',
      't',
      '--title',
      'T',
    ]
    const more = ['--description', 'D', '--commit-message', 'C', '--label', 'x', '--label', 'y', '--assignee', 'ann']
    const rest = ['--reviewer', 'bob', '--auto-merge', '--squash', '--keep-source-branch', '--expires-after', '14d']
    expect(await submissionOf([...args, ...more, ...rest, '--force-overwrite'])).toMatchObject({
      ...{ source_branch: 's', target_branch: 't', title: 'T', description: 'D', commit_message: 'C' },
      ...{ labels: ['x', 'y'], assignees: ['ann'], reviewers: ['bob'], auto_merge: true, squash: true },
      ...{ remove_source_branch: false, expires_after: '14d', force_overwrite: true },
    })
  })

  test('takes project, branch, address and token from a job of GitLab CI', async () => {
    await repository.git(['checkout', '--quiet', '--detach'])
    const job = { CI_PROJECT_PATH: 'g/p', CI_COMMIT_REF_NAME: 'updates/ci', CI_DEFAULT_BRANCH: 'main' }
    expect(await submissionOf(['--from-git', 'main'], job)).toMatchObject({
      project: 'g/p',
      source_branch: 'updates/ci',
    })
    const service = { WORKQUEUE_URL: 'http://127.0.0.1:1', WORKQUEUE_ID_TOKEN: 'signed' }
    const { status, err } = await wq(['submit', '--from-git', 'main'], { ...job, ...service })
    expect(status).toBe(6)
    expect(err).toContain('The service at http://127.0.0.1:1 is not reachable')
  })

  test.each<[string, string, Record<string, string>, string]>([
    ['the default branch of the project', 'trunk', { CI_DEFAULT_BRANCH: 'trunk' }, 'The branch "trunk" is what'],
    ['what looks like one when nobody says', 'main', {}, 'The branch "main" is what'],
    ['a tag', '', { CI_COMMIT_TAG: 'v1', CI_COMMIT_REF_NAME: 'v1' }, 'The branch to write is not known'],
  ])('never writes %s', async (_title, branch, job, message) => {
    await repository.git(branch === '' ? ['checkout', '--quiet', '--detach'] : ['checkout', '--quiet', '-B', branch])
    await writeFile('new.md', 'new\n')
    const args = ['submit', '--from-git', 'HEAD', '--worktree', '--project', 'p', '--title', 't']
    const { status, err } = await wq(args, job)
    expect(status).toBe(2)
    expect(err).toContain(message)
    expect(err).toContain('--source-branch NAME')
  })

  test('has nothing to submit when nothing changed, which is no failure', async () => {
    const { status, out, err } = await wq(['submit', '--from-git', 'HEAD', '--project', 'p'])
    expect([status, out, err]).toEqual([0, 'These commits change no file: there is nothing to submit.\n', ''])
    expect((await wq(['submit', '--from-git', 'HEAD', '--json'])).out).toBe('null\n')
  })

  test('refuses what the service could not take, and says what to do', async () => {
    await writeFile('large.bin', Buffer.alloc(9 * 1024 * 1024))
    const args = [
      'submit',
      '--from-git',
      'HEAD',
      '--worktree',
      '--project',
      'p',
      '--title',
      't',
      '--source-branch',
      's',
    ]
    const { status, out, err } = await wq(args)
    expect([status, out]).toEqual([8, ''])
    expect(err).toContain('HEAD..the working tree: 1 file (1 upsert), 9 MiB\n')
    expect(err).toContain('error: The files have 9 MiB, and the service takes 8 MiB as JSON. Split the change')
    await writeFile('large.bin', Buffer.alloc(7 * 1024 * 1024))
    expect(await wq([...args, '-n'])).toMatchObject({
      status: 8,
      out: '',
      err: expect.stringContaining('at most 8388608'),
    })
  })
})

describe('wq submit --from-dir', () => {
  let directory: string
  const send = (args: readonly string[]) =>
    wq(['submit', '--from-dir', directory, ...args, '--project', 'p', '--title', 't', '--source-branch', 's', '-n'])

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'wq-from-dir-'))
    return () => rm(directory, { recursive: true, force: true })
  })

  test('sends every file, ignored ones too, with its mode, and leaves out .git', async () => {
    await mkdir(join(directory, 'sub/.git'), { recursive: true })
    await writeFile(join(directory, 'sub/.git/config'), 'x')
    await writeFile(join(directory, '.gitignore'), '*\n')
    await writeFile(join(directory, 'sub/run.sh'), '#!/bin/sh\n')
    await chmod(join(directory, 'sub/run.sh'), 0o755)
    await writeFile(join(directory, 'b c.bin'), Buffer.from([0, 255]))
    const { out, err } = await send(['--into', 'generated/'])
    expect(JSON.parse(out).file_actions).toEqual([
      { action: 'upsert', file_path: 'generated/.gitignore', execute_filemode: false, content: '*\n' },
      {
        action: 'upsert',
        file_path: 'generated/b c.bin',
        execute_filemode: false,
        content: 'AP8=',
        encoding: 'base64',
      },
      { action: 'upsert', file_path: 'generated/sub/run.sh', execute_filemode: true, content: '#!/bin/sh\n' },
    ])
    expect(err).toContain('3 files (3 upsert), 14 bytes; largest')
  })

  test('names what it cannot send', async () => {
    await symlink('/etc/passwd', join(directory, 'link'))
    await writeFile(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from('Gr\xfc\xdfe', 'latin1')]), 'x')
    const { status, err } = await send([])
    expect(status).toBe(2)
    expect(err.split('\n')).toEqual([
      'error: The service cannot carry this change:',
      '  "Grüße" has a name that is not UTF-8',
      '  "link" is a symbolic link',
      '',
    ])
  })

  test('says that a directory is empty, or not there', async () => {
    expect(await send([])).toMatchObject({ status: 2, err: expect.stringContaining('holds no files') })
    await rm(directory, { recursive: true })
    expect(await send([])).toMatchObject({ status: 2, err: expect.stringContaining('cannot be read') })
  })
})

test.each([
  [[], 'Say where the submission is'],
  [['x.yaml', '--from-git', 'main'], 'Say where the submission is'],
  [['--from-dir', '.', '--from-git', 'main'], 'Say where the submission is'],
  [['x.yaml', '--source-branch', 'x'], '--source-branch goes with --from-git and --from-dir'],
  [['--from-dir', '.', '--worktree'], '--worktree goes with --from-git'],
  [['--from-git', 'main', '--into', 'x'], '--into goes with --from-dir'],
  [['--from-dir', ''], '--from-dir needs a directory'],
  [['--from-dir', '.', '--into', ''], '--into needs a path'],
  [['--from-git', 'main'], 'give --project GROUP/NAME'],
  [['--from-dir', '.', '--project', 'p'], 'give --title TEXT'],
  [['--from-git', 'main', '--expires-after', 'soon'], 'Write a duration such as 12h or 14d'],
])('wq submit %j is wrong usage', async (args, message) => {
  const { status, out, err } = await wq(['submit', ...args])
  expect([status, out]).toEqual([2, ''])
  expect(err).toContain(message)
})
