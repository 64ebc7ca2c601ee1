import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createMrWorld, type MrWorld } from '../../../../test/support/mr-world.ts'

const CI = 'stages: [test]\njobs:\n  unit: { stage: test, seconds: 1 }\n'
const FILES = { 'README.md': '# Widgets\n', '.sandbox-ci.yml': CI }

let world: MrWorld
let branch: string
let last = 0

beforeEach(() => {
  last += 1
  branch = `bot/change-${last}`
})

const startWorld = (components: readonly object[]) => createMrWorld({ files: FILES, project: { components } })

function submit(given: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const file_actions = [{ action: 'upsert', file_path: `docs/note-${last}.md`, content: 'A note.\n' }]
  return world.submit({ source_branch: branch, auto_merge: true, file_actions, ...given })
}

async function workUntilMerged(id: string, before: string | null = null): Promise<string> {
  await world.work(id)
  for (let round = 0; round < 30; round += 1) {
    const { mergeCommitSha } = (await world.look(id)).detail
    if (mergeCommitSha !== null && mergeCommitSha !== before) return mergeCommitSha
    await world.later(id)
  }
  throw new Error('it was not merged')
}

/** An event of Konflux, and whatever follows from it. */
async function tell(id: string, component: string, status: 'True' | 'False', sha: string): Promise<void> {
  const body = {
    ...{ apiVersion: 'tekton.dev/v1', kind: 'PipelineRun' },
    metadata: {
      ...{ name: `${component}-run`, namespace: 'tenant' },
      labels: { 'appstudio.openshift.io/component': component, 'pipelines.appstudio.openshift.io/type': 'build' },
      annotations: { 'pipelinesascode.tekton.dev/sha': sha },
    },
    status: { conditions: [{ type: 'Succeeded', status, reason: status === 'True' ? 'Succeeded' : 'Failed' }] },
  }
  const ids = await world.queue.ingest({ eventType: 'pipeline_run', eventAt: new Date(), body, sourceId: null })
  expect(ids).toEqual([id])
  await world.work(id)
}

const blockersOf = async (id: string) => (await world.queue.get(id)).presentation.blockers
const itemOf = async (id: string) => (await world.look(id)).item
/** Calls that change something, the note about the state apart. */
const writesSoFar = () => world.calls.filter((call) => /^(create|update|delete|merge|commit)(?!Note)/.test(call)).length

describe('after a merge whose components are built', () => {
  beforeAll(async () => {
    world = await startWorld([{ name: 'api' }, { name: 'web' }])
  })
  afterAll(() => world.remove())

  test('an item waits for each build, and is completed when the last has succeeded', async () => {
    const id = await submit()
    const sha = await workUntilMerged(id)
    expect(await itemOf(id)).toMatchObject({ phase: 'active', actionable: false })
    expect(await blockersOf(id)).toMatchObject([
      { code: 'waiting_for_build', message: 'the build of api is awaited', clearedBy: 'Konflux' },
      { code: 'waiting_for_build', message: 'the build of web is awaited' },
    ])
    await tell(id, 'web', 'True', sha)
    expect((await blockersOf(id)).map(({ message }) => message)).toEqual(['the build of api is awaited'])
    await tell(id, 'api', 'True', sha)
    expect(await itemOf(id)).toMatchObject({ phase: 'completed', resolution: 'merged' })
  })

  test('a build that failed is told while others run, and fails the item in the end', async () => {
    const id = await submit()
    const sha = await workUntilMerged(id)
    await tell(id, 'api', 'False', sha)
    expect(await blockersOf(id)).toMatchObject([
      { code: 'build_failed', message: 'the build of api has failed (api-run: Failed)' },
      { code: 'waiting_for_build' },
    ])
    await tell(id, 'web', 'True', sha)
    const item = await itemOf(id)
    expect(item).toMatchObject({ phase: 'failed', lastError: { code: 'build_failed' } })
    expect(item.lastError?.message).toBe('It is merged, but the build of api has failed (api-run: Failed).')
  })

  test('a newer run mends a failed build, and nothing spoils one that has succeeded', async () => {
    const id = await submit()
    const sha = await workUntilMerged(id)
    await tell(id, 'api', 'False', sha)
    await tell(id, 'api', 'True', sha)
    await tell(id, 'api', 'False', sha)
    expect((await blockersOf(id)).map(({ message }) => message)).toEqual(['the build of web is awaited'])
    await tell(id, 'web', 'True', sha)
    expect(await itemOf(id)).toMatchObject({ phase: 'completed', resolution: 'merged' })
  })

  test('a retry waits anew for what has failed, and writes nothing', async () => {
    const id = await submit()
    const sha = await workUntilMerged(id)
    await tell(id, 'web', 'True', sha)
    await tell(id, 'api', 'False', sha)
    expect(await itemOf(id)).toMatchObject({ phase: 'failed' })
    const writes = writesSoFar()
    await world.queue.retry(id, 'tester')
    await world.work(id)
    expect((await blockersOf(id)).map(({ message }) => message)).toEqual(['the build of api is awaited'])
    await tell(id, 'api', 'True', sha)
    expect(await itemOf(id)).toMatchObject({ phase: 'completed', resolution: 'merged' })
    expect(writesSoFar()).toBe(writes)
  })

  test('events of GitLab change nothing any more, and a cancel ends it as what it is: merged', async () => {
    const id = await submit()
    await workUntilMerged(id)
    const { detail } = await world.look(id)
    const { mrIid, projectId } = detail
    const attributes = { iid: mrIid, source_project_id: projectId, target_project_id: projectId, action: 'merge' }
    const body = { object_kind: 'merge_request', project: { id: projectId }, object_attributes: attributes }
    await world.queue.ingest({ eventType: 'merge_request', eventAt: new Date(), body, sourceId: null })
    await world.later(id)
    expect((await world.look(id)).detail.builds).toEqual(detail.builds)
    expect(await itemOf(id)).toMatchObject({ phase: 'active', actionable: false })
    await world.queue.cancel(id, 'tester')
    await world.work(id)
    expect(await itemOf(id)).toMatchObject({ phase: 'completed', resolution: 'merged' })
  })

  test('other content gets a merge request of its own, and waits for the builds of that', async () => {
    const id = await submit()
    const sha = await workUntilMerged(id)
    await tell(id, 'api', 'True', sha)
    const file_actions = [{ action: 'upsert', file_path: `docs/note-${last}.md`, content: 'Another note.\n' }]
    expect(await submit({ file_actions })).toBe(id)
    const next = await workUntilMerged(id, sha)
    expect((await blockersOf(id)).map(({ code }) => code)).toEqual(['waiting_for_build', 'waiting_for_build'])
    await tell(id, 'api', 'True', next)
    await tell(id, 'web', 'True', next)
    expect(await itemOf(id)).toMatchObject({ phase: 'completed', resolution: 'merged' })
  })
})

describe('by the policy of the component', () => {
  beforeAll(async () => {
    world = await startWorld([
      { name: 'lenient', on_failure: 'complete' },
      { name: 'forgotten', timeout: '1ms', on_timeout: 'complete' },
    ])
  })
  afterAll(() => world.remove())

  test('an item is completed although a build has failed, and nobody has told of another', async () => {
    const id = await submit()
    const sha = await workUntilMerged(id)
    await tell(id, 'lenient', 'False', sha)
    await world.later(id)
    expect(await itemOf(id)).toMatchObject({ phase: 'completed', resolution: 'merged_build_failed' })
    expect((await world.look(id)).detail.builds).toMatchObject({
      lenient: { outcome: 'failed' },
      forgotten: { outcome: 'timed_out' },
    })
  })
})

describe('with a time that is up', () => {
  beforeAll(async () => {
    world = await startWorld([{ name: 'late', timeout: '1ms' }])
  })
  afterAll(() => world.remove())

  test('an item fails, unless its policy says otherwise', async () => {
    const id = await submit()
    await workUntilMerged(id)
    await world.later(id)
    const { phase, lastError } = await itemOf(id)
    expect([phase, lastError?.code]).toEqual(['failed', 'build_failed'])
    expect(lastError?.message).toContain('the build of late was not told of')
  })
})
