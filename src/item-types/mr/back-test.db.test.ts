import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMrWorld, type MrWorld } from '../../../test/support/mr-world.ts'
import { backTest } from './back-test.ts'
import { mrConfigSchema } from './config.ts'

let world: MrWorld
beforeAll(async () => {
  world = await createMrWorld()
  const write = (file_path: string, source_branch: string) =>
    world.submit({ source_branch, file_actions: [{ action: 'create', file_path, content: 'x\n' }] })
  await write('docs/a.md', 'bot/a')
  await write('deploy/b.yaml', 'bot/b')
  await write('src/c.ts', 'bot/c')
})
afterAll(() => world.remove())

function policy(rules: object) {
  return mrConfigSchema.parse({ projects: [{ path: world.server.project.pathWithNamespace, ...rules }] })
}

async function effects(current: object, proposed: object, limit = 100): Promise<unknown> {
  const { judged, changes } = await backTest(world.database.db, {
    ...{ current: policy(current), proposed: policy(proposed), limit },
  })
  const told = changes.map(({ sourceBranch, effect, findings }) => [
    sourceBranch,
    effect,
    findings.map(({ code }) => code),
  ])
  return { judged, told }
}

test('names what would be refused, and why', async () => {
  expect(await effects({}, { block_paths: ['deploy/**'] })).toEqual({
    judged: 3,
    told: [['bot/b', 'refused', ['path_blocked']]],
  })
})

test('names what would be accepted that is refused now', async () => {
  expect(await effects({ allow_paths: ['docs/**'] }, { allow_paths: ['docs/**', 'src/**'] })).toEqual({
    judged: 3,
    told: [['bot/c', 'accepted', ['path_not_allowed']]],
  })
})

test('names what would need a review, and what none any more', async () => {
  const review = { paths: ['src/**'], users: ['ann'] }
  expect(await effects({}, { review })).toEqual({ judged: 3, told: [['bot/c', 'review_needed', []]] })
  expect(await effects({ review }, {})).toEqual({ judged: 3, told: [['bot/c', 'review_not_needed', []]] })
})

test('looks at the newest, as many as asked for, and says nothing where nothing changes', async () => {
  expect(await effects({}, {}, 2)).toEqual({ judged: 2, told: [] })
})
