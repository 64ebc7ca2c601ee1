/** What operators are told by the herder, after it has herded in the sandbox. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMrWorld, type MrWorld } from '../../../../test/support/mr-world.ts'
import type { Herder } from '../../../queue/herder.ts'

const YESTERDAY = new Date(Date.now() - 86_400_000)
const CI = `
stages: [test]
jobs:
  flaky: { outcomes: [{ status: failed, failure_reason: runner_system_failure, log: "the log of flaky" }, success] }
  lint: {}
`
const BROKEN =
  "jobs: { unit: { outcomes: [failed, success], log: 'Segmentation fault in the-secret' }, manual: { when: manual } }"

let world: MrWorld
let herder: Herder
let broken: string

beforeAll(async () => {
  world = await createMrWorld({
    files: { 'README.md': '# Widgets\n', '.sandbox-ci.yml': CI },
    mr: {
      herder: {
        delay: '0s',
        matchers: [
          { name: 'crash', match: { job: 'unit*', log_tail: '^Bus error' }, action: 'report', message: 'mend it' },
        ],
      },
    },
  })
  const found = world.queue.itemTypes.get('mr')?.herder
  if (found === undefined) throw new Error('no herder')
  herder = found
  await world.workToTheEnd(await world.submit({ auto_merge: true }))
  await world.server.commit('main', { '.sandbox-ci.yml': BROKEN })
  broken = await world.submit({
    source_branch: 'bot/broken',
    auto_merge: true,
    file_actions: [{ action: 'create', file_path: 'docs/b.md', content: 'b\n' }],
  })
  await world.work(broken)
  for (let round = 0; round < 6; round += 1) await world.later(broken)
})
afterAll(() => world.remove())

async function jobUrl(name: string): Promise<string> {
  const jobs = (await world.server.call('GET', '/jobs')).list
  return String(jobs.find((job) => job['name'] === name)?.['web_url'])
}

test('statistics tell what came of the retries, by matcher and by job', async () => {
  const { matchers, jobs } = await herder.statistics(YESTERDAY)
  expect(matchers).toEqual([
    { matcher: 'lost-runner', failures: 1, retries: 1, succeeded: 1, failed_again: 0, unknown: 0 },
  ])
  expect(jobs).toMatchObject([
    { job: 'flaky', retries: 1, pipelines_retried: 1, pipelines_recovered: 1, pipelines_of_project: 2 },
  ])
  expect((await herder.statistics(new Date(Date.now() + 60_000))).matchers).toEqual([])
})

test('coverage names what no matcher knew, and whether it was a flake after all', async () => {
  const before = await herder.coverage(YESTERDAY, 10)
  expect(before).toMatchObject({ failures: 2, known: 1 })
  expect(before.unknown).toMatchObject([
    { job: 'unit', stage: 'test', failure_reason: 'script_failure', failures: 1, recovered: 0, known_by: null },
  ])
  expect(before.unknown[0]?.last_job_url).toBe(await jobUrl('unit'))
  // A person runs it again.
  await world.server.call('POST', `/jobs/${(await jobUrl('unit')).split('/').at(-1)}/retry`)
  await world.workToTheEnd(broken)
  expect((await herder.coverage(YESTERDAY, 10)).unknown).toMatchObject([{ recovered: 1 }])
})

test('a job is tested against every matcher, with what decides, and without a word of its log', async () => {
  const tested = async (name: string, status: string) => {
    const id = world.server.context.state.jobs.find((job) => job.name === name && job.status === status)?.id
    return herder.test((await jobUrl('lint')).replace(/\d+$/, String(id)), AbortSignal.timeout(10_000))
  }
  const flaky = await tested('flaky', 'failed')
  expect(flaky).toMatchObject({ job: { name: 'flaky' }, matcher: 'lost-runner', log: 'read' })
  expect(flaky.verdict).toMatch(/^lost-runner knows it: it is run again up to 2 times/)
  const unit = await tested('unit', 'failed')
  expect(unit).toMatchObject({ matcher: null, verdict: expect.stringContaining('No matcher knows it') })
  expect(unit.matchers[0]).toMatchObject({
    ...{ name: 'crash', source: 'service', fits: false },
    conditions: [
      { about: 'job', holds: true },
      { about: 'log_tail', holds: false },
    ],
  })
  expect(await tested('flaky', 'success')).toMatchObject({
    matcher: null,
    verdict: expect.stringContaining('is success'),
  })
  expect(JSON.stringify([flaky, unit])).not.toMatch(/the log of flaky|the-secret/)
})

test.each([
  ['of another GitLab', (url: string) => url.replace('127.0.0.1', '127.0.0.2')],
  ['of a project that is not configured', (url: string) => url.replace('Widgets', 'Gadgets')],
  ['that does not exist', (url: string) => url.replace(/\d+$/, '999999')],
  ['that is no job', (url: string) => url.replace('/jobs/', '/pipelines/')],
  ['that is no address', () => 'unit'],
])('an address %s is no job', async (_title, change) => {
  const url = change(await jobUrl('flaky'))
  await expect(herder.test(url, AbortSignal.timeout(10_000))).rejects.toMatchObject({ code: 'job_not_found' })
})
