/** What a crash leaves behind: nothing done twice, nothing forgotten. The service runs in a process of its own and is killed. */
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createFlow, type Flow } from '../support/flow.ts'

let flow: Flow
beforeEach(async () => {
  flow = await createFlow()
})
afterEach(() => flow.stop())

/** A short lease, so that the next process need not wait half a minute for the dead one's. */
const QUEUE = { lease: '2s', sweep_interval: '200ms' }

const CHANGE = {
  item_type: 'mr',
  project: 'group/widgets',
  source_branch: 'queue/crash',
  title: 'Survive a crash',
  file_actions: [{ action: 'upsert', file_path: 'docs/new.md', content: 'new\n' }],
  auto_merge: true,
  remove_source_branch: true,
}

describe('kill -9', () => {
  test('between the commit and the merge request, then a restart, makes one merge request, merged', async () => {
    const { signals, state } = flow.gitlab.context
    const first = await flow.spawn({ queue: QUEUE })
    // The signal comes before the answer to the commit leaves GitLab: the service never learns that it worked.
    const died = once(first.process, 'exit')
    signals.once('push', () => first.process.kill('SIGKILL'))
    const { work_item } = await first.client.submit(CHANGE)
    await died
    expect(state.mergeRequests).toEqual([])

    const second = await flow.spawn({ queue: QUEUE })
    await second.audit.waitForPhase(work_item.id, 'completed')

    expect(state.mergeRequests).toMatchObject([{ state: 'merged' }])
    expect(flow.writes.filter((write) => write === 'push queue/crash')).toHaveLength(1)
    expect(await second.client.get(work_item.id)).toMatchObject({ phase: 'completed', resolution: 'merged' })
  })

  test('right after the merge, before anybody could note it, ends completed and not merged twice', async () => {
    const { signals, state } = flow.gitlab.context
    const first = await flow.spawn({ queue: QUEUE })
    const died = once(first.process, 'exit')
    signals.on('merge_request', ({ action }) => {
      if (action === 'merge') first.process.kill('SIGKILL')
    })
    const { work_item } = await first.client.submit(CHANGE)
    await died
    const second = await flow.spawn({ queue: QUEUE })
    await second.audit.waitForPhase(work_item.id, 'completed')

    expect(state.mergeRequests).toMatchObject([{ state: 'merged' }])
    expect(flow.writes.filter((write) => write.startsWith('merge !'))).toHaveLength(1)
    expect(await second.client.get(work_item.id)).toMatchObject({ phase: 'completed', resolution: 'merged' })
  })
})
