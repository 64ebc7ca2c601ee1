/** The herder against the sandbox: what is run again, what is left alone, and how it is told. */
import { afterEach, describe, expect, test } from 'vitest'
import { createMrWorld, type MrWorld, type MrWorldOptions } from '../../../../test/support/mr-world.ts'

const FLAKY = '{ outcomes: [{ status: failed, failure_reason: runner_system_failure }, success] }'

let world: MrWorld

afterEach(() => world.remove())

async function open(jobs: string, options: MrWorldOptions = {}): Promise<string> {
  const { herder, ...mr } = (options.mr ?? {}) as { herder?: object }
  world = await createMrWorld({
    files: {
      'README.md': '# Widgets\n',
      '.sandbox-ci.yml': `stages: [build, test]\nworkflow: { branches: none }\njobs: ${jobs}\n`,
    },
    ...options,
    mr: { ...mr, herder: { delay: '0s', ...herder } },
  })
  return world.submit({ auto_merge: true })
}

const retries = () => world.server.writes({ kind: 'retry_job' })

/** Works until the item waits for this. */
async function workUntil(id: string, code: string): Promise<void> {
  await world.work(id)
  for (let round = 0; round < 30; round += 1) {
    if ((await world.look(id)).detail.waitsFor?.code === code) return
    await world.later(id)
  }
  throw new Error(`it waits for ${JSON.stringify((await world.look(id)).detail.waitsFor)}`)
}

async function blockerOf(id: string) {
  const [blocker] = (await world.queue.get(id)).presentation.blockers
  return blocker
}

function failuresKnown() {
  return world.database.db
    .selectFrom('mr_ci_failures')
    .select(['job_name', 'failure_reason', 'matcher', 'decision', 'run', 'outcome'])
    .orderBy('job_id')
    .execute()
}

/** All runs of the head pipeline, as GitLab shows them. */
async function runsOf(id: string) {
  const { head_pipeline } = await world.mergeRequestOf(id)
  const { id: pipelineId } = head_pipeline as { id: number }
  return (await world.server.call('GET', `/pipelines/${pipelineId}/jobs?include_retried=true`)).list
}

describe('a job that the runner has failed', () => {
  test('is run again, and the change is merged with no person involved', async () => {
    const id = await open(`{ unit: ${FLAKY}, lint: {} }`)
    await world.workToTheEnd(id)
    expect((await world.look(id)).item).toMatchObject({ phase: 'completed', resolution: 'merged', attempts: 0 })
    expect(retries()).toHaveLength(1)
    expect(await failuresKnown()).toEqual([
      {
        ...{ job_name: 'unit', failure_reason: 'runner_system_failure', matcher: 'lost-runner' },
        ...{ decision: 'retried', run: 1, outcome: 'success' },
      },
    ])
  })

  test('is run again as often as its matcher allows, and then named with its link', async () => {
    const id = await open('{ unit: { outcomes: [{ status: failed, failure_reason: runner_system_failure }] } }')
    await workUntil(id, 'pipeline_not_green')
    for (let round = 0; round < 12; round += 1) await world.later(id)
    expect(retries()).toHaveLength(2)
    const [latest] = await runsOf(id)
    expect(await blockerOf(id)).toMatchObject({
      code: 'pipeline_not_green',
      message: 'job unit failed 3 times: runner_system_failure (lost-runner, which allows no more retries)',
      links: [{ name: 'unit', url: latest?.['web_url'] }],
    })
    const known = await failuresKnown()
    expect(known.map(({ run, decision, outcome }) => [run, decision, outcome])).toEqual([
      [1, 'retried', 'failed'],
      [2, 'retried', 'failed'],
      [3, 'exhausted', null],
    ])
  })

  test('waits before it is run again, and says until when', async () => {
    const id = await open(`{ unit: ${FLAKY} }`, { mr: { herder: { delay: '5m' } } })
    await workUntil(id, 'retrying_ci')
    const { dimensions, now } = await world.look(id)
    const until = dimensions.find(({ dimension }) => dimension === 'needs_ci_retry')?.pendingUntil
    expect(Number(until) - now.getTime()).toBeGreaterThan(280_000)
    expect((await blockerOf(id))?.message).toMatch(
      /^job unit failed: runner_system_failure; it is run again at \d\d:\d\d UTC$/,
    )
    // However often it is looked at meanwhile.
    for (let round = 0; round < 3; round += 1) await world.later(id)
    expect(retries()).toHaveLength(0)
    await world.database.db
      .updateTable('mr_ci_failures')
      .set({ seen_at: new Date(Date.now() - 301_000) })
      .execute()
    await world.workToTheEnd(id)
    expect(retries()).toHaveLength(1)
  })

  test("waits for the next budget when this hour's is spent", async () => {
    const two = `{ one: { stage: build, ${FLAKY.slice(1)}, two: ${FLAKY} }`
    const id = await open(two, { mr: { herder: { budget: 1 } } })
    await workUntil(id, 'retrying_ci')
    for (let round = 0; round < 12; round += 1) await world.later(id)
    expect(retries()).toHaveLength(1)
    expect((await blockerOf(id))?.message).toMatch(
      /^job two failed: .*, because the budget for retries is spent until then$/,
    )
    await world.database.db
      .updateTable('mr_ci_failures')
      .set({ retried_at: new Date(Date.now() - 3_601_000) })
      .where('job_name', '=', 'one')
      .execute()
    await world.workToTheEnd(id)
    expect(retries()).toHaveLength(2)
  })

  test('waits while too much fails at once', async () => {
    const id = await open(`{ one: ${FLAKY}, two: ${FLAKY} }`, {
      mr: { herder: { breaker: { failures: 2, window: '10m' } } },
    })
    await workUntil(id, 'retrying_ci')
    for (let round = 0; round < 4; round += 1) await world.later(id)
    expect(retries()).toHaveLength(0)
    expect((await blockerOf(id))?.message).toMatch(/, unless so much goes on failing in all projects$/)
    await world.database.db
      .updateTable('mr_ci_failures')
      .set({ seen_at: new Date(Date.now() - 601_000) })
      .execute()
    await world.workToTheEnd(id)
    expect(retries()).toHaveLength(2)
  })

  test('in a child pipeline is run again there', async () => {
    const outcomes = '[{ status: failed, failure_reason: runner_interrupted }, success]'
    const id = await open(`{ unit: {}, down: { trigger: { outcomes: ${outcomes}, strategy: depend } } }`)
    await world.workToTheEnd(id)
    expect((await world.look(id)).item.resolution).toBe('merged')
    expect(retries()).toHaveLength(1)
  })

  test('in a child pipeline that its parent does not wait for is run again, too', async () => {
    const outcomes = '[{ status: failed, failure_reason: runner_interrupted }, success]'
    const id = await open(`{ unit: { seconds: 3 }, down: { trigger: { outcomes: ${outcomes} } } }`)
    await world.workToTheEnd(id)
    expect((await world.look(id)).item.resolution).toBe('merged')
    expect(retries()).toHaveLength(1)
  })

  test('of a merged result is run again', async () => {
    world = await createMrWorld({
      files: {
        'README.md': '# Widgets\n',
        '.sandbox-ci.yml': `workflow: { merged_results: true }\njobs: { unit: ${FLAKY} }\n`,
      },
      mr: { herder: { delay: '0s' } },
    })
    const id = await world.submit({ auto_merge: true })
    await world.workToTheEnd(id)
    expect((await world.look(id)).item.resolution).toBe('merged')
    expect(retries()).toHaveLength(1)
  })
})

describe('a failure is left alone', () => {
  const cases: readonly [title: string, jobs: string, message: string, options?: MrWorldOptions][] = [
    ['of the script', '{ unit: { outcomes: [failed] } }', 'job unit failed: script_failure'],
    [
      'that is worth a retry, beside one that is not',
      `{ unit: ${FLAKY}, lint: { outcomes: [failed] } }`,
      'job lint failed: script_failure; job unit failed: runner_system_failure',
    ],
    [
      'in a pipeline of another project',
      '{ down: { trigger: { project: other/none } } }',
      'the pipeline of down failed: downstream_bridge_project_not_found',
    ],
    [
      'that only an operator can mend',
      '{ unit: { outcomes: [{ status: failed, failure_reason: no_matching_runner }] } }',
      'job unit failed: no_matching_runner (no runner may take this job; look at its tags and at the runners of the project)',
    ],
    [
      'that the project wants to be ignored',
      `{ unit: ${FLAKY} }`,
      'job unit failed: runner_system_failure',
      { project: { herder: { matchers: [{ name: 'deploys', match: { job: 'un*' }, action: 'ignore' }] } } },
    ],
    [
      'where the herder is off',
      `{ unit: ${FLAKY} }`,
      'job unit failed: runner_system_failure',
      { mr: { herder: { enabled: false } } },
    ],
  ]
  test.each(cases)('%s', async (_title, jobs, message, options) => {
    const id = await open(jobs, options)
    await workUntil(id, 'pipeline_not_green')
    for (let round = 0; round < 5; round += 1) await world.later(id)
    expect(retries()).toHaveLength(0)
    expect((await world.look(id)).item).toMatchObject({ phase: 'active', attempts: 0, lastError: null })
    const blocker = await blockerOf(id)
    expect(blocker).toMatchObject({ code: 'pipeline_not_green', message })
    expect(blocker?.links?.[0]?.url).toMatch(/\/-\/jobs\/\d+$/)
  })

  test('of a job that may fail', async () => {
    const id = await open(
      '{ unit: { allow_failure: true, outcomes: [{ status: failed, failure_reason: runner_system_failure }] }, lint: {} }',
    )
    await world.workToTheEnd(id)
    expect((await world.look(id)).item.resolution).toBe('merged')
    expect(retries()).toHaveLength(0)
  })

  test('and the note on the merge request names the job and links to it', async () => {
    const id = await open('{ "unit [a]": { outcomes: [failed] } }')
    await workUntil(id, 'pipeline_not_green')
    for (let round = 0; round < 3; round += 1) await world.later(id)
    const [run] = await runsOf(id)
    const { detail } = await world.look(id)
    const { list } = await world.server.call(
      'GET',
      `/merge_requests/${detail.mrIid}/notes?activity_filter=only_comments`,
    )
    const note = list.map(({ body }) => String(body)).find((body) => body.includes('script_failure')) ?? ''
    expect(note).toContain('- job unit \\[a\\] failed: script_failure (`pipeline_not_green`')
    expect(note).toContain(`  - unit \\[a\\]: <${run?.['web_url']}>`)
  })
})

describe('a failure that only its log tells', () => {
  const withLog = (log: string) => `{ unit: { outcomes: [{ status: failed, log: ${JSON.stringify(log)} }, success] } }`

  test('is run again for the message of git, and not a word of the log is kept', async () => {
    const log =
      "secret-in-the-log\n\u001b[0;31mfatal: unable to access 'https://gitlab/x.git/': Could not resolve host: gitlab\u001b[0m\n"
    const id = await open(withLog(log))
    await world.workToTheEnd(id)
    expect(retries()).toHaveLength(1)
    expect(await failuresKnown()).toMatchObject([{ matcher: 'git-network', outcome: 'success' }])
    const rows = await world.database.db.selectFrom('mr_ci_failures').selectAll().execute()
    const details = await world.database.db.selectFrom('mr_details').selectAll().execute()
    const stored = [rows, details].flat().map((row) => Object.values(row).map(String).join(' '))
    expect(stored.join(' ')).not.toMatch(/secret-in-the-log|resolve host/)
  })

  test('is read once, however often the failed pipeline is looked at', async () => {
    const id = await open(withLog('expected 1, got 2\n').replace(', success', ''))
    await workUntil(id, 'pipeline_not_green')
    for (let round = 0; round < 6; round += 1) await world.later(id)
    expect(world.calls.filter((call) => call === 'getJobLogTail')).toHaveLength(1)
    expect(await failuresKnown()).toMatchObject([{ matcher: null, decision: 'unmatched' }])
  })

  test('is no match where GitLab does not show the log', async () => {
    const id = await open(withLog('curl: (56) Recv failure\n'))
    world.answer('getJobLogTail', null)
    await workUntil(id, 'pipeline_not_green')
    expect(retries()).toHaveLength(0)
  })
})

describe('somebody else', () => {
  test('who has canceled a job is obeyed', async () => {
    const id = await open(`{ unit: ${FLAKY}, slow: { seconds: 50 } }`)
    await world.work(id)
    await world.later(id)
    const slow = (await runsOf(id)).find(({ name }) => name === 'slow')
    await world.server.pass(5_000)
    await world.server.call('POST', `/jobs/${slow?.['id']}/cancel`)
    for (let round = 0; round < 5; round += 1) await world.later(id)
    expect(retries()).toHaveLength(0)
  })

  test('who starts a newer pipeline ends all retries of the older one, also in the last moment', async () => {
    const twice = '[{ status: failed, failure_reason: runner_system_failure }]'
    const id = await open(`{ one: { outcomes: ${twice} }, two: { outcomes: ${twice} } }`)
    world.alter('retryJob', async (given) => {
      await world.server.call('POST', `/merge_requests/${(await world.look(id)).detail.mrIid}/pipelines`)
      return given
    })
    await world.work(id)
    for (let round = 0; round < 4 && retries().length === 0; round += 1) await world.later(id)
    // The one whose request was on its way; the other one was not run again.
    expect(retries()).toHaveLength(1)
    const decisions = (await failuresKnown()).map(({ decision }) => decision)
    expect(decisions.toSorted()).toEqual(['outdated', 'retried'])
  })

  test('who starts one while the older one is judged keeps even the first retry from being made', async () => {
    const id = await open(`{ unit: ${FLAKY} }`)
    let older: unknown
    world.alter('listJobs', async (given) => {
      older = given[1]
      await world.server.call('POST', `/merge_requests/${(await world.look(id)).detail.mrIid}/pipelines`)
      return given
    })
    await world.workToTheEnd(id)
    expect((await world.look(id)).item.resolution).toBe('merged')
    const { list } = await world.server.call('GET', `/pipelines/${older}/jobs?include_retried=true`)
    expect(list.map(({ status }) => status)).toEqual(['failed'])
    expect(retries()).toHaveLength(1)
  })

  test('who pushes to the branch ends them', async () => {
    const id = await open(`{ unit: ${FLAKY} }`, { mr: { herder: { delay: '5m' } } })
    await workUntil(id, 'retrying_ci')
    await world.server.commit('bot/change', { 'docs/more.md': 'more\n' })
    await world.database.db
      .updateTable('mr_ci_failures')
      .set({ seen_at: new Date(0) })
      .execute()
    for (let round = 0; round < 5; round += 1) await world.later(id)
    expect(retries().filter(({ user }) => user === 'maintainer')).toHaveLength(0)
  })
})
