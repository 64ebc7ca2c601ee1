/** Jobs that the runner fails, over the whole service: changes are merged with no person involved, and each retry is made once. */
import { afterEach, expect, test } from 'vitest'
import type { FaultRuleInput } from '../../sandbox/gitlab/faults/rule.ts'
import { createFlow, type Flow } from '../support/flow.ts'

let flow: Flow
afterEach(() => flow.stop())

const FLAKY_CI = `
stages: [build, test]
workflow: { branches: none }
jobs:
  compile: { stage: build, outcomes: [{ status: failed, failure_reason: runner_system_failure }, success] }
  unit: { stage: test }
  e2e:
    stage: test
    outcomes: [{ status: failed, log: "curl: (56) Recv failure: Connection reset by peer\\n" }, success]
`
const CHANGES = 3

const mr = (delay: string) => ({
  projects: [{ path: 'group/widgets' }],
  pipeline_poll: '1s',
  herder: { delay },
})

const change = (number: number) => ({
  item_type: 'mr',
  project: 'group/widgets',
  source_branch: `queue/change-${number}`,
  title: 'Change the widgets',
  file_actions: [{ action: 'create', file_path: `docs/${number}.md`, content: 'new\n' }],
  auto_merge: true,
})

/** How often each job of each branch was run again. */
function retriesByBranch(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { branch } of flow.gitlab.writes({ kind: 'retry_job' }))
    counts[branch ?? ''] = (counts[branch ?? ''] ?? 0) + 1
  return counts
}

test('changes are merged, though jobs fail and half of the answers to retries are lost', async () => {
  const lost: FaultRuleInput = {
    ...{ path: '/api/v4/projects/*/jobs/*/retry', method: 'POST' },
    ...{ kind: 'drop_after', probability: 0.5, seed: 7 },
  }
  flow = await createFlow({ files: { '.sandbox-ci.yml': FLAKY_CI }, faults: [lost] })
  const { client, audit } = await flow.start({
    mr: mr('100ms'),
    queue: { sweep_interval: '200ms', backoff_base: '50ms' },
  })
  const items = await Promise.all(Array.from({ length: CHANGES }, (_, number) => client.submit(change(number))))
  await Promise.all(items.map(({ work_item }) => audit.waitForPhase(work_item.id, 'completed')))
  expect(flow.gitlab.faults.list()[0]?.fired).toBeGreaterThan(0)
  const branches = items.map((_item, number) => `queue/change-${number}`)
  // Two jobs fail once in each pipeline.
  expect(retriesByBranch()).toEqual(Object.fromEntries(branches.map((branch) => [branch, 2])))
  for (const { work_item } of items) {
    expect(await client.get(work_item.id)).toMatchObject({ resolution: 'merged', attempts: 0 })
  }
})

test('a service that is killed while a job waits for its retry goes on after the restart', async () => {
  flow = await createFlow({ files: { '.sandbox-ci.yml': FLAKY_CI } })
  const overrides = { mr: mr('1s'), queue: { lease: '2s', sweep_interval: '200ms' } }
  const first = await flow.spawn(overrides)
  const { work_item } = await first.client.submit(change(1))
  await first.audit.waitFor(({ action, outcome }) => action === 'retry_ci' && outcome === 'succeeded', 'the herder')
  first.process.kill('SIGKILL')
  const second = await flow.spawn(overrides)
  await second.audit.waitForPhase(work_item.id, 'completed')
  expect(retriesByBranch()).toEqual({ 'queue/change-1': 2 })
})
