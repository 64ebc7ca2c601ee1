import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createMrWorld, type MrWorld } from '../../../../test/support/mr-world.ts'
import type { GitLabCommitRequest } from '../../../gitlab/port.ts'

const CI = 'stages: [test]\njobs:\n  unit: { stage: test, seconds: 1 }\n'

let world: MrWorld
let branch: string
let file: string
let last = 0

beforeAll(async () => {
  world = await createMrWorld({
    files: { 'README.md': '# Widgets\n', '.sandbox-ci.yml': CI },
    project: { review: { paths: ['deploy/**'], users: ['developer'] } },
  })
})
afterAll(() => world.remove())

beforeEach(() => {
  last += 1
  branch = `bot/change-${last}`
  file = `deploy/app-${last}.yaml`
})

function submit(given: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const file_actions = [{ action: 'upsert', file_path: file, content: 'replicas: 2\n' }]
  return world.submit({ source_branch: branch, file_actions, commit_message: 'Scale', ...given })
}

async function approve(id: string): Promise<void> {
  const { detail } = await world.look(id)
  const answer = await world.server.call('POST', `/merge_requests/${detail.mrIid}/approve`, undefined, 'developer')
  expect(answer.status).toBe(201)
}

async function workUntilReviewed(id: string): Promise<void> {
  await world.server.pass(2_000)
  await approve(id)
  for (let round = 0; round < 10 && (await world.mergeRequestOf(id))['draft'] === true; round += 1)
    await world.later(id)
  expect(await world.mergeRequestOf(id)).toMatchObject({ draft: false })
}

describe('a change that takes the approval of a named person', () => {
  test('is a draft from the first moment', async () => {
    const titles: string[] = []
    world.alter('createMergeRequest', (given) => {
      titles.push((given[2] as { title: string }).title)
      return given
    })
    const id = await submit()
    await world.work(id)
    expect(titles).toEqual(['Draft: Add a note'])
    expect(await world.mergeRequestOf(id)).toMatchObject({ draft: true })
  })

  test.each([
    ['a title that leaves no room for the mark', 'x'.repeat(254), `Draft: ${'x'.repeat(247)}…`],
    ['a character of two units at the cut', `${'x'.repeat(246)}😀${'x'.repeat(6)}`, `Draft: ${'x'.repeat(246)}…`],
    ['a draft of the caller', 'Draft: mine', 'Draft: mine'],
    ['blanks around the title', '  mine  ', 'Draft: mine'],
  ])('keeps to the limit of GitLab, and to one mark: %s', async (_name, title, shown) => {
    const id = await submit({ title })
    await world.work(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'active', lastError: null })
    expect(await world.mergeRequestOf(id)).toMatchObject({ title: shown, draft: true })
  })

  test('gets its mark back when somebody takes it off', async () => {
    const id = await submit()
    await world.work(id)
    const { detail } = await world.look(id)
    await world.server.call('PUT', `/merge_requests/${detail.mrIid}`, { title: 'Add a note' })
    await submit({ labels: ['docs'] })
    await world.work(id)
    expect(await world.mergeRequestOf(id)).toMatchObject({ title: 'Draft: Add a note', draft: true })
  })

  test('loses the mark with the approval, has it again with other files, and without such files never', async () => {
    const id = await submit()
    await world.work(id)
    await workUntilReviewed(id)
    await submit({ file_actions: [{ action: 'upsert', file_path: file, content: 'replicas: 3\n' }] })
    await world.work(id)
    expect(await world.mergeRequestOf(id)).toMatchObject({ title: 'Draft: Add a note', draft: true })
    await submit({ file_actions: [{ action: 'upsert', file_path: `docs/${last}.md`, content: 'A note.\n' }] })
    await world.work(id)
    expect(await world.mergeRequestOf(id)).toMatchObject({ title: 'Add a note', draft: false })
  })

  test('is made anew where its answer was lost: a commit that came by Git could be dated back', async () => {
    let commits = 0
    const count = (given: readonly unknown[]) => {
      commits += 1
      expect((given[1] as GitLabCommitRequest).branch).toBe(branch)
      return given
    }
    const id = await submit()
    world.loseAnswer('createCommit')
    world.alter('createCommit', count)
    await world.work(id)
    const lost = (await world.headOf(branch))?.['id']
    world.alter('createCommit', count)
    await world.later(id)
    expect(commits).toBe(2)
    const { detail } = await world.look(id)
    expect(detail.writtenSha).toBe((await world.headOf(branch))?.['id'])
    expect(lost).toMatch(/^[0-9a-f]{40}$/)
  })
})
