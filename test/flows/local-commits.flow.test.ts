/** Commits of a clone go in with `wq submit --from-git`, and the target holds exactly their tree afterwards. */
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { newToken } from '../../src/auth/token.ts'
import { createFlow, type Flow } from '../support/flow.ts'
import { startWq } from '../support/wq.ts'

let flow: Flow
afterEach(() => flow.stop())

const lines = Array.from({ length: 40 }, (_, index) => `line ${index}\n`).join('')

test('the tree of local commits becomes the tree of the target', async () => {
  flow = await createFlow({
    mergeMethod: 'ff',
    files: { 'docs/a.md': lines, 'docs/b.md': `b\n${lines}`, 'bin/run.sh': '#!/bin/sh\n', 'src/gone.ts': 'x\n' },
  })
  const { token, sha256 } = newToken()
  const { url } = await flow.start({
    auth: { rules: [{ name: 'ci', token_sha256: sha256, permissions: ['submit'] }] },
    mr: {
      projects: [
        { path: 'group/widgets', any_characters_in_paths: true, binary_files: [{ format: 'any', paths: ['**'] }] },
      ],
      pipeline_poll: '1s',
    },
  })
  const clone = await flow.clone()
  const git = (...args: string[]) => flow.git(clone, ...args)
  await git('checkout', '--quiet', '-b', 'updates/local')
  await mkdir(join(clone, 'manual'))
  await git('mv', 'docs/a.md', 'manual/ä b.md')
  await git('mv', 'docs/b.md', 'manual/b.md')
  await writeFile(join(clone, 'manual/b.md'), `b\n${lines}more\n`)
  await git('rm', '--quiet', 'src/gone.ts')
  await git('add', '--all')
  await git('commit', '--quiet', '--message', 'Move the manual')
  await chmod(join(clone, 'bin/run.sh'), 0o755)
  await writeFile(join(clone, 'dot.bin'), Buffer.from([0, 1, 255]))
  await writeFile(join(clone, 'empty'), '')
  await writeFile(join(clone, 'new.sh'), '#!/bin/sh\n')
  await chmod(join(clone, 'new.sh'), 0o755)
  await git('add', '--all')
  await git('commit', '--quiet', '--message', 'Add what was missing')

  const job = {
    WORKQUEUE_URL: url,
    WORKQUEUE_ID_TOKEN: token,
    CI_PROJECT_PATH: 'group/widgets',
    CI_DEFAULT_BRANCH: 'main',
  }
  const args = ['--from-git', 'origin/main', '--auto-merge']
  const run = (command: string, ...more: string[]) =>
    startWq([command, ...args, ...more], { env: job, cwd: clone }).ended
  expect(await run('inspect')).toMatchObject({ status: 0, out: expect.stringMatching(/^accepted/) })
  expect(await run('submit', '--watch', '--interval', '50ms')).toMatchObject({
    status: 0,
    out: expect.stringContaining('completed (merged)'),
    err: expect.stringContaining('7 files (3 upsert, 2 move, 1 chmod, 1 delete)'),
  })
  await git('fetch', '--quiet')
  expect(await git('rev-parse', 'origin/main^{tree}')).toBe(await git('rev-parse', 'HEAD^{tree}'))
  expect(await git('log', '-1', '--format=%s', 'origin/main')).toBe('Add what was missing')
  expect(await run('submit')).toMatchObject({ status: 0, out: expect.stringContaining('nothing to submit') })
})
