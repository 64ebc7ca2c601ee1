/** A merge request among many: before each look somebody else's merge has set GitLab's check back. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMrWorld, type MrWorld } from '../../../../test/support/mr-world.ts'

let world: MrWorld
let others = 0
beforeAll(async () => {
  world = await createMrWorld({
    files: { '.sandbox-ci.yml': 'stages: [test]\njobs:\n  unit: { stage: test, seconds: 1 }\n' },
  })
})
afterAll(() => world.remove())

/** Lets time pass, but never without a push to the target right before the look. */
async function lookAfterAPush(id: string): Promise<void> {
  others += 1
  world.alter('getMergeRequest', async (given) => {
    await world.server.commit('main', { [`others/${others}.txt`]: 'theirs\n' })
    return given
  })
  await world.later(id)
}

test('is merged all the same, once everything but that check is there', async () => {
  const id = await world.submit({ auto_merge: true, source_branch: 'bot/busy' })
  await world.work(id)
  for (let round = 0; round < 12 && (await world.look(id)).item.phase === 'active'; round += 1) await lookAfterAPush(id)
  expect((await world.look(id)).item).toMatchObject({ phase: 'completed', resolution: 'merged' })
})

test('is rebuilt where the merge finds a conflict that no look had shown', async () => {
  const id = await world.submit({
    ...{ auto_merge: true, source_branch: 'bot/late-conflict' },
    file_actions: [{ action: 'upsert', file_path: 'docs/contested.md', content: 'ours\n' }],
  })
  await world.work(id)
  await lookAfterAPush(id)
  await world.server.commit('main', { 'docs/contested.md': 'theirs\n' })
  await world.workToTheEnd(id)
  expect((await world.look(id)).item).toMatchObject({ phase: 'completed', resolution: 'merged' })
  expect(`${await world.contentOf('main', 'docs/contested.md')}`).toBe('ours\n')
})
