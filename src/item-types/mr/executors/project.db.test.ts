import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createMrWorld, type MrWorld } from '../../../../test/support/mr-world.ts'
import { errorOfAnswer } from '../../../gitlab/errors.ts'

const CALL = { method: 'GET', endpoint: 'projects/Group%2Fsub%2FWidgets' }
const MAINTAINER = 40
const REPORTER = 20

let world: MrWorld
let branch: string
let file: string
let path: string
let last = 0

beforeAll(async () => {
  world = await createMrWorld({
    files: {
      'README.md': '# Widgets\n',
      '.sandbox-ci.yml': "include:\n  - /ci/a.yml\n  - local: 'ci/parts/*.yml'\n",
      'ci/a.yml': 'child:\n  trigger:\n    include: deep/child.yml\n',
      'ci/parts/one.yml': 'include: deep/of-a-part.yml\n',
      'deep/child.yml': 'job: { script: make }\n',
      'main/ci.yml': 'include: main/other.yml\n',
    },
  })
  path = world.server.project.pathWithNamespace
})
afterAll(() => world.remove())

beforeEach(() => {
  last += 1
  branch = `bot/change-${last}`
  file = `docs/note-${last}.md`
})

afterEach(() => {
  const { project, users } = world.server
  Object.assign(project, { pathWithNamespace: path, archived: false, squashOption: 'default_off' })
  project.members[users.maintainer.id] = MAINTAINER
})

function submit(given: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const file_actions = [{ action: 'upsert', file_path: file, content: 'A note.\n' }]
  return world.submit({ project: path, source_branch: branch, file_actions, ...given })
}

async function errorOf(id: string): Promise<unknown> {
  return (await world.look(id)).item.lastError
}

/** Another submission to an item that has been written already. */
async function changeAgain(): Promise<string> {
  const id = await submit({ file_actions: [{ action: 'upsert', file_path: file, content: 'Another note.\n' }] })
  await world.work(id)
  return id
}

describe('a project', () => {
  test('that was renamed says its new path when the item knows the project', async () => {
    const id = await submit()
    await world.work(id)
    world.server.project.pathWithNamespace = 'Group/sub/gadgets'
    await changeAgain()
    expect(await errorOf(id)).toMatchObject({
      code: 'project_renamed',
      message: expect.stringContaining('is Group/sub/gadgets'),
    })
    expect((await world.look(id)).item.phase).toBe('active')
  })

  test('whose old path GitLab redirects is named as renamed', async () => {
    const id = await submit()
    world.refuse('getProject', errorOfAnswer(CALL, { status: 301, text: '', retryAfter: null }))
    await world.work(id)
    expect(await errorOf(id)).toMatchObject({ code: 'project_renamed' })
  })

  test('that the service never saw is not found', async () => {
    delete world.server.project.members[world.server.users.maintainer.id]
    const id = await submit()
    await world.work(id)
    expect(await errorOf(id)).toMatchObject({ code: 'project_not_found' })
  })

  test('that the service may not see any more is lost, and found again after a retry', async () => {
    const id = await submit()
    await world.work(id)
    delete world.server.project.members[world.server.users.maintainer.id]
    await changeAgain()
    expect(await errorOf(id)).toMatchObject({ code: 'project_lost' })
    world.server.project.members[world.server.users.maintainer.id] = MAINTAINER
    await world.later(id)
    expect(await errorOf(id)).toBeNull()
  })

  test('that cannot be seen is not called cancelled', async () => {
    const id = await submit()
    await world.work(id)
    delete world.server.project.members[world.server.users.maintainer.id]
    await world.queue.cancel(id, 'tester')
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'active', lastError: { code: 'project_lost' } })
    world.server.project.members[world.server.users.maintainer.id] = MAINTAINER
    await world.later(id)
    expect((await world.look(id)).item.phase).toBe('cancelled')
  })

  test('that is archived says so', async () => {
    world.server.project.archived = true
    const id = await submit()
    await world.work(id)
    expect(await errorOf(id)).toMatchObject({ code: 'project_archived' })
  })

  test('in which the service has lost its role says which one it needs', async () => {
    world.server.project.members[world.server.users.maintainer.id] = REPORTER
    const id = await submit()
    await world.work(id)
    expect(await errorOf(id)).toMatchObject({
      code: 'rights_missing',
      message: expect.stringContaining('the role Developer'),
    })
  })
})

describe('a file that defines pipelines', () => {
  test.each([
    ['ci/a.yml', 'one that is included'],
    ['CI/A.yml', 'the same in another case'],
    ['ci/parts/new.yml', 'one that a pattern would include'],
    ['deep/child.yml', 'the definition of a child pipeline'],
    ['deep/of-a-part.yml', 'one that a file of a pattern includes'],
  ])('%s is blocked (%s)', async (file_path) => {
    const id = await submit({ file_actions: [{ action: 'upsert', file_path, content: 'x: 1\n' }] })
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'failed', lastError: { code: 'path_blocked' } })
  })

  test.each(['ci/a.yaml', 'deep/other.yml', 'main/ci.yml', 'main/other.yml'])('%s is not one', async (file_path) => {
    const id = await submit({ file_actions: [{ action: 'upsert', file_path, content: 'x: 1\n' }] })
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'active', lastError: null })
  })

  test.each(['main/ci.yml', 'Main/CI.yml', 'main/other.yml'])(
    '%s is one where the project says so',
    async (file_path) => {
      const project = await world.gitlab.getProject(path)
      world.answer('getProject', { ...project, ciConfigPath: '/main/ci.yml' })
      const id = await submit({ file_actions: [{ action: 'upsert', file_path, content: 'x: 1\n' }] })
      await world.work(id)
      expect((await world.look(id)).item).toMatchObject({ phase: 'failed', lastError: { code: 'path_blocked' } })
    },
  )

  test('that cannot be read blocks nothing more, and is no error', async () => {
    await world.server.commit('main', { 'README.md': '# Better widgets\n' })
    world.answer('getFile', { content: Buffer.from('a: [') })
    const id = await submit({ file_actions: [{ action: 'upsert', file_path: 'ci/a.yml', content: 'x: 1\n' }] })
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'active', lastError: null })
  })

  test('is open when the configuration lifts the definition itself', async () => {
    const other = await createMrWorld({
      files: { '.sandbox-ci.yml': 'include: ci/a.yml\n' },
      project: { unblock_paths: ['**/.gitlab-ci*.yml'] },
    })
    try {
      const id = await other.submit({ file_actions: [{ action: 'upsert', file_path: 'ci/a.yml', content: 'x: 1\n' }] })
      await other.work(id)
      expect((await other.look(id)).item).toMatchObject({ phase: 'active', lastError: null })
    } finally {
      await other.remove()
    }
  })
})

describe('squash', () => {
  test.each([
    ['never', true, false],
    ['always', false, true],
    ['default_on', false, false],
    ['default_off', true, true],
  ] as const)('of a project that says %s, asked for: %s, is %s', async (squashOption, squash, squashed) => {
    world.server.project.squashOption = squashOption
    const id = await submit({ squash })
    await world.work(id)
    const { detail } = await world.look(id)
    const { json } = await world.server.call('GET', `/merge_requests/${detail.mrIid}`)
    expect(json).toMatchObject({ squash: squashed })
  })
})
