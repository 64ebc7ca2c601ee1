/** The dry run over the sandbox: it says what the service would do, and does nothing. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createMrWorld, type MrWorld } from '../../../test/support/mr-world.ts'
import { GitLabError } from '../../gitlab/errors.ts'
import type { Inspection } from '../../queue/work-queue.ts'

let world: MrWorld
beforeAll(async () => {
  world = await createMrWorld({
    files: {
      'README.md': '# Widgets\n\nOld.\n',
      'src/a.txt': 'a\n',
      'src/b.txt': 'b\n',
      'run.sh': 'echo\n',
      'logo.bin': Buffer.from([0, 1, 2]),
      '.sandbox-ci.yml': 'include:\n  - local: ci/build.yml\n',
      'ci/build.yml': 'build:\n  script: make\n',
    },
    project: {
      source_branches: ['bot/*', 'person/*'],
      review: { paths: ['src/**'], users: ['maintainer'] },
      binary_files: [{ format: 'any', paths: ['*.bin'] }],
    },
  })
})
afterEach(async () => {
  expect(await world.headOf('bot/dry')).toBeNull()
})
afterAll(() => world.remove())

const MAY = { require: () => {}, holds: () => true }

function inspect(given: object, withContents = true): Promise<Inspection> {
  const body = {
    ...{ item_type: 'mr', project: world.server.project.pathWithNamespace, source_branch: 'bot/dry', title: 'Dry' },
    ...{ file_actions: [{ action: 'upsert', file_path: 'docs/new.md', content: 'New.\n' }] },
    ...given,
  }
  const signal = AbortSignal.timeout(30_000)
  return world.queue.inspect('mr', body, 'tester', { signal, rights: MAY, mayReadContents: () => withContents })
}

describe('a dry run', () => {
  test('tells file by file what would change in the target, and under which rules', async () => {
    const { outcome, findings, changes, policy } = await inspect({
      file_actions: [
        { action: 'create', file_path: 'docs/new.md', content: 'New.\n' },
        { action: 'upsert', file_path: 'README.md', content: '# Widgets\n\nNew.\n' },
        { action: 'upsert', file_path: 'src/a.txt', content: 'a\n' },
        { action: 'move', previous_path: 'src/b.txt', file_path: 'src/c.txt' },
        { action: 'chmod', file_path: 'run.sh', execute_filemode: true },
        { action: 'update', file_path: 'logo.bin', content: 'AAEC/w==', encoding: 'base64' },
      ],
    })
    expect([outcome, findings]).toEqual(['created', []])
    expect(changes).toEqual([
      {
        ...{ path: 'docs/new.md', change: 'create', bytes: 5, mode: '100644' },
        diff: expect.stringContaining('--- /dev/null\n+++ docs/new.md\n@@ -0,0 +1,1 @@\n+New.\n'),
      },
      {
        ...{ path: 'README.md', change: 'update', bytes: 16, mode: '100644' },
        diff: '--- README.md\n+++ README.md\n@@ -1,3 +1,3 @@\n # Widgets\n \n-Old.\n+New.\n',
      },
      { path: 'src/a.txt', change: 'unchanged', bytes: 2, mode: '100644' },
      { path: 'src/c.txt', previous_path: 'src/b.txt', change: 'move', mode: '100644' },
      { path: 'run.sh', change: 'chmod', mode: '100755' },
      { path: 'logo.bin', change: 'update', bytes: 4, mode: '100644', diff: '(binary files differ)\n' },
    ])
    expect(policy).toMatchObject({
      ...{ target_branch: 'main', needs_review: true, review: { users: ['maintainer'] } },
      merge: { method: 'merge', hold_labels: ['do-not-merge'] },
    })
  })

  test('shows no content of the target to whoever may not read it', async () => {
    const { changes } = await inspect({ file_actions: [{ action: 'delete', file_path: 'README.md' }] }, false)
    expect(changes).toEqual([{ path: 'README.md', change: 'delete' }])
    const shown = await inspect({ file_actions: [{ action: 'delete', file_path: 'README.md' }] })
    expect(shown.changes[0]?.['diff']).toContain('-# Widgets')
  })

  test('cuts what would be too much to show', async () => {
    const content = Array.from({ length: 5_000 }, (_, line) => `line ${line}\n`).join('')
    const { changes } = await inspect({ file_actions: [{ action: 'create', file_path: 'docs/long.md', content }] })
    expect(changes[0]?.['diff']).toMatch(/line 1\n[\s\S]*\(more is left out\)\n$/)
    expect(String(changes[0]?.['diff']).length).toBeLessThan(20_100)
  })

  test.each<[string, object, string, string]>([
    [
      'a missing file',
      { action: 'update', file_path: 'nope', content: '' },
      'file_missing',
      '/file_actions/0/file_path',
    ],
    ['a directory', { action: 'delete', file_path: 'src' }, 'not_a_file', '/file_actions/0/file_path'],
    [
      'an include of the pipeline',
      { action: 'move', previous_path: 'ci/build.yml', file_path: 'x.yml' },
      'path_blocked',
      '/file_actions/0/previous_path',
    ],
  ])('finds %s in the target', async (_title, action, code, path) => {
    const { outcome, findings, changes } = await inspect({ file_actions: [action] })
    expect([outcome, changes]).toEqual([null, []])
    expect(findings).toMatchObject([{ code, path }])
  })

  test.each<[object, string, string]>([
    [{ target_branch: 'other' }, 'target_branch_not_allowed', '/target_branch'],
    [{ source_branch: 'main' }, 'source_branch_not_allowed', '/source_branch'],
    [{ source_branch: 'person/protected' }, 'source_branch_protected', '/source_branch'],
  ])('finds that %j cannot be: %s', async (given, code, path) => {
    if ('source_branch' in given && given.source_branch === 'person/protected') {
      await world.server.commit('person/protected', { x: 'y\n' })
      await world.server.call('POST', '/protected_branches', { name: 'person/protected' })
    }
    const { outcome, findings } = await inspect(given)
    expect(outcome).toBeNull()
    expect(findings).toMatchObject([{ code, path }])
  })

  test('of a project that GitLab does not show says so', async () => {
    world.answer('getProject', null)
    expect((await inspect({})).findings).toMatchObject([{ code: 'project_not_found', path: '/project' }])
  })

  test('while GitLab is away is an error, and never an acceptance', async () => {
    world.refuse('getBranch', new GitLabError('gitlab_timeout', 'no answer', { failure: 'transient' }))
    await expect(inspect({})).rejects.toMatchObject({ failure: 'transient' })
  })
})
