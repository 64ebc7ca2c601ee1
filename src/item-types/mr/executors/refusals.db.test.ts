import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createMrWorld, type MrWorld } from '../../../../test/support/mr-world.ts'

let world: MrWorld
let branch: string
let file: string
let last = 0

beforeAll(async () => {
  world = await createMrWorld({
    files: {
      'README.md': '# Widgets\n',
      'src/a.txt': 'a\n',
    },
    project: { source_branches: ['bot/*', 'person/*'] },
  })
})
afterAll(() => world.remove())

beforeEach(() => {
  last += 1
  branch = `bot/change-${last}`
  file = `docs/note-${last}.md`
})

function submit(given: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const file_actions = [{ action: 'create', file_path: file, content: 'A note.\n' }]
  return world.submit({ source_branch: branch, file_actions, ...given })
}

/** A person's own commit on top of the branch. */
function pushAsPerson(files: Readonly<Record<string, string>>, name = branch): Promise<string> {
  return world.server.commit(name, files)
}

describe('what the target tree forbids', () => {
  test.each<[string, object, string]>([
    ['a directory', { action: 'delete', file_path: 'src' }, 'not_a_file'],
    ['a path through a file', { action: 'create', file_path: 'README.md/x', content: '' }, 'not_a_file'],
    ['a create of what exists', { action: 'create', file_path: 'README.md', content: 'x' }, 'file_exists'],
    ['an update of what is missing', { action: 'update', file_path: 'nowhere/x', content: 'x' }, 'file_missing'],
    ['a move from nowhere', { action: 'move', file_path: 'y', previous_path: 'nowhere' }, 'file_missing'],
  ])('%s fails the item with %s', async (_title, action, code) => {
    const id = await submit({ file_actions: [action] })
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'failed', lastError: { code } })
    expect(await world.headOf(branch)).toBeNull()
  })

  test('a protected source branch fails the item', async () => {
    branch = 'person/protected'
    await pushAsPerson({ [file]: 'theirs\n' })
    await world.server.call('POST', '/protected_branches', { name: branch })
    const id = await submit()
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({
      phase: 'failed',
      lastError: { code: 'source_branch_protected' },
    })
  })

  test('a target that the project does not list fails the item', async () => {
    await pushAsPerson({ [file]: 'x\n' }, 'person/other-target')
    const id = await submit({ target_branch: 'person/other-target' })
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ lastError: { code: 'target_branch_not_allowed' } })
  })

  test('a user that GitLab does not know fails the item', async () => {
    const id = await submit({ reviewers: ['nobody-here'] })
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'failed', lastError: { code: 'user_unknown' } })
  })
})
