/** A change goes in, a merged merge request comes out: the main job, over the real API, database and repositories. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { createFlow, type Flow, type FlowOptions } from '../support/flow.ts'

let flow: Flow
afterEach(() => flow.stop())

const BINARY = Buffer.from([0, 1, 2, 255, 254, 0, 13, 10, 128, 0])

function change(overrides: Record<string, unknown> = {}) {
  return {
    item_type: 'mr',
    project: 'group/widgets',
    source_branch: 'queue/change',
    title: 'Change the widgets',
    file_actions: [{ action: 'upsert', file_path: 'docs/new.md', content: 'new\n' }],
    auto_merge: true,
    remove_source_branch: true,
    ...overrides,
  }
}

async function started(options: FlowOptions = {}) {
  flow = await createFlow(options)
  return flow.start()
}

describe('a change', () => {
  test('with every kind of action is on the target afterwards, byte for byte and mode for mode, in one commit', async () => {
    const { client, audit } = await started({
      mergeMethod: 'ff',
      files: {
        'src/old-name.txt': 'moved as it is\n',
        'src/gone.txt': 'no longer needed\n',
        'src/kept.txt': 'untouched\n',
        'src/changed.txt': 'before\n',
        'bin/run.sh': '#!/bin/sh\n',
      },
    })
    const before = await flow.clone()
    const base = await flow.git(before, 'rev-parse', 'HEAD')
    const { work_item } = await client.submit(
      change({
        file_actions: [
          { action: 'create', file_path: 'src/made.txt', content: 'made: ä € 😀\n' },
          { action: 'update', file_path: 'src/changed.txt', content: 'after\n' },
          { action: 'delete', file_path: 'src/gone.txt' },
          { action: 'move', previous_path: 'src/old-name.txt', file_path: 'src/new-name.txt' },
          { action: 'chmod', file_path: 'bin/run.sh', execute_filemode: true },
          { action: 'create', file_path: 'img/dot.bin', content: BINARY.toString('base64'), encoding: 'base64' },
        ],
      }),
    )
    await audit.waitForPhase(work_item.id, 'completed')

    const after = await flow.clone()
    expect(await flow.git(after, 'rev-list', '--count', `${base}..HEAD`)).toBe('1')
    const names = await flow.git(after, 'diff', '--name-status', '--no-renames', `${base}..HEAD`)
    expect(names.split('\n').map((line) => line.replace('\t', ' '))).toEqual([
      'M bin/run.sh',
      'A img/dot.bin',
      'M src/changed.txt',
      'D src/gone.txt',
      'A src/made.txt',
      'A src/new-name.txt',
      'D src/old-name.txt',
    ])
    expect(await readFile(join(after, 'src/made.txt'), 'utf8')).toBe('made: ä € 😀\n')
    expect(await readFile(join(after, 'src/changed.txt'), 'utf8')).toBe('after\n')
    expect(await readFile(join(after, 'src/new-name.txt'), 'utf8')).toBe('moved as it is\n')
    expect(await readFile(join(after, 'img/dot.bin'))).toEqual(BINARY)
    expect((await stat(join(after, 'bin/run.sh'))).mode & 0o111).toBe(0o111)
    const shown = await client.get(work_item.id)
    expect(shown).toMatchObject({ phase: 'completed', resolution: 'merged', attempts: 0 })
  })

  test('is merged only after its pipeline is green', async () => {
    const { client, audit } = await started()
    const { work_item } = await client.submit(change())
    await audit.waitForPhase(work_item.id, 'completed')

    const [pipeline] = flow.gitlab.context.state.pipelines
    const [mergeRequest] = flow.gitlab.context.state.mergeRequests
    expect(pipeline).toMatchObject({ status: 'success', sha: mergeRequest?.sha })
    expect(Date.parse(mergeRequest?.mergedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(pipeline?.finishedAt ?? ''))
  })

  test('submitted again is unchanged and writes nothing; changed it updates the same merge request', async () => {
    const { client, audit } = await started()
    const waiting = { auto_merge: false }
    const first = await client.submit(change(waiting))
    await audit.waitFor(({ action, outcome }) => action === 'reconcile_mr' && outcome === 'succeeded', 'the first look')
    const writes = flow.writes.length
    const again = await client.submit(change(waiting))
    expect(again.outcome).toBe('unchanged')
    expect(flow.writes).toHaveLength(writes)

    const changed = await client.submit(
      change({
        title: 'Change the widgets better',
        file_actions: [{ action: 'upsert', file_path: 'docs/new.md', content: 'newer\n' }],
      }),
    )
    expect(changed).toMatchObject({ outcome: 'updated', work_item: { id: first.work_item.id } })
    await audit.waitForPhase(first.work_item.id, 'completed')
    expect(flow.gitlab.context.state.mergeRequests).toHaveLength(1)
    expect(flow.gitlab.context.state.mergeRequests[0]).toMatchObject({
      title: 'Change the widgets better',
      state: 'merged',
    })
    expect(await readFile(join(await flow.clone(), 'docs/new.md'), 'utf8')).toBe('newer\n')
  })

  test('after the merge of the same branch is generation 2 with a merge request of its own', async () => {
    const { client, audit } = await started()
    const first = await client.submit(change())
    await audit.waitForPhase(first.work_item.id, 'completed')
    const second = await client.submit(
      change({ file_actions: [{ action: 'upsert', file_path: 'docs/new.md', content: 'second\n' }] }),
    )
    await audit.waitForPhase(second.work_item.id, 'completed')

    expect(second).toMatchObject({ outcome: 'created', work_item: { generation: 2 } })
    expect(flow.gitlab.context.state.mergeRequests.map(({ state }) => state)).toEqual(['merged', 'merged'])
  })

  test('that the target has already makes no merge request and no branch', async () => {
    const { client, audit } = await started({ files: { 'docs/new.md': 'new\n' } })
    const { work_item } = await client.submit(change())
    await audit.waitForPhase(work_item.id, 'completed')

    expect(await client.get(work_item.id)).toMatchObject({ resolution: 'empty' })
    expect(flow.writes).toEqual([])
  })

  test('that conflicts with a push to the target while it waits is rebuilt and merged', async () => {
    const { client, audit } = await started({ approvalsRequired: 1, files: { 'docs/shared.md': 'base\n' } })
    const submission = change({
      file_actions: [{ action: 'upsert', file_path: 'docs/shared.md', content: 'from the queue\n' }],
    })
    const { work_item } = await client.submit(submission)
    await audit.waitFor(({ action, outcome }) => action === 'reconcile_mr' && outcome === 'succeeded', 'the first look')

    await flow.pushAsPerson({ 'docs/shared.md': 'from a person\n' })
    await flow.approve(1)
    await audit.waitForPhase(work_item.id, 'completed')

    const after = await flow.clone()
    expect(await readFile(join(after, 'docs/shared.md'), 'utf8')).toBe('from the queue\n')
    expect(await flow.git(after, 'log', '--format=%s')).toContain('A person was faster')
    expect(flow.gitlab.context.state.mergeRequests).toHaveLength(1)
  })

  test('reaches its end without any event, only later', async () => {
    const { client, audit } = await started({ webhook: false })
    const { work_item } = await client.submit(change())
    await audit.waitForPhase(work_item.id, 'completed')
  })

  test('that is cancelled leaves no open merge request and no branch', async () => {
    const { client, audit } = await started()
    const { work_item } = await client.submit(change({ auto_merge: false }))
    await audit.waitFor(({ action, outcome }) => action === 'reconcile_mr' && outcome === 'succeeded', 'the first look')
    await client.cancel(work_item.id)
    await audit.waitForPhase(work_item.id, 'cancelled')

    expect(flow.gitlab.context.state.mergeRequests.map(({ state }) => state)).toEqual(['closed'])
    const after = await flow.clone()
    expect(await flow.git(after, 'branch', '--remotes')).not.toContain('queue/change')
  })

  test('that the bot may not merge says so, and is merged once it may', async () => {
    const nobody = { name: 'main', pushAccessLevel: 60, mergeAccessLevel: 60 }
    const { client, audit } = await started({ protectedBranches: [nobody] })
    const { work_item } = await client.submit(change())
    const looks = () => audit.entries.filter(({ action }) => action === 'reconcile_mr').length
    await flow.untilPipelineEnded()
    // GitLab first has to find out whether it can be merged; each look is audited.
    let seen = looks()
    let shown = await client.get(work_item.id)
    while (shown.blockers[0]?.code !== 'merge_refused') {
      await audit.waitFor(() => looks() > seen, 'a look that is refused the merge')
      seen = looks()
      shown = await client.get(work_item.id)
    }
    expect(shown).toMatchObject({ phase: 'active', blockers: [{ message: expect.stringContaining('401') }] })

    flow.project.protectedBranches = []
    await client.retry(work_item.id)
    await audit.waitForPhase(work_item.id, 'completed')
  })

  test('that somebody points at another branch goes where its caller and the configuration said', async () => {
    const { client, audit } = await started({ approvalsRequired: 1 })
    await flow.asPerson('POST', '/repository/branches', { branch: 'production', ref: 'main' })
    const { work_item } = await client.submit(change())
    await audit.waitFor(({ action, outcome }) => action === 'reconcile_mr' && outcome === 'succeeded', 'the first look')
    await flow.asPerson('PUT', '/merge_requests/1', { target_branch: 'production' })
    await flow.approve(1)
    await audit.waitForPhase(work_item.id, 'completed')

    expect(flow.gitlab.context.state.mergeRequests).toMatchObject([{ targetBranch: 'main', state: 'merged' }])
    // Once, when the person made it.
    expect(flow.writes.filter((write) => write === 'push production')).toHaveLength(1)
  })
})
