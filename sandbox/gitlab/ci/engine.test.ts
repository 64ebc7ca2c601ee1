import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createSandboxGitLab } from '../sandbox.ts'
import type { Job, MergeRequest, Pipeline } from '../state.ts'
import { openTestSandbox, type TestSandbox } from '../test-support.ts'
import { type Ci, startCi } from './engine.ts'
import { jobsOf, latestJobsOf } from './jobs.ts'
import { cancelPipeline, playJob, retryJob, retryPipeline } from './pipelines.ts'

const TWO_STAGES = `
stages: [build, test]
jobs:
  compile: { stage: build, seconds: 10, log: "compiling\\n" }
  unit: { stage: test, seconds: 20 }
  lint: { stage: test, seconds: 5 }
`

let sandbox: TestSandbox
let ci: Ci
let heard: string[]

beforeEach(async () => {
  sandbox = await openTestSandbox()
  ci = startCi(sandbox.context)
  heard = []
  sandbox.context.signals.on('pipeline', ({ pipeline }) => heard.push(`pipeline ${pipeline.status}`))
  sandbox.context.signals.on('job', ({ job }) => heard.push(`${job.name} ${job.status}`))
})

afterEach(async () => {
  await ci.stop()
  await sandbox.remove()
})

/** Opens a merge request whose branch holds `config`. */
async function openWith(config: string, message?: string): Promise<MergeRequest> {
  await sandbox.push('feature', { '.sandbox-ci.yml': config }, message)
  const mergeRequest = await sandbox.openMergeRequest('feature')
  await ci.idle()
  return mergeRequest
}

/** Lets time pass, with room for git at work between the timers. */
async function pass(seconds: number): Promise<void> {
  sandbox.clock.advance(seconds * 1000)
  await sandbox.context.exclusive(sandbox.project, async () => {})
  await ci.idle()
}

function headOf(mergeRequest: MergeRequest): Pipeline {
  const pipeline = sandbox.context.state.pipelines.find(({ id }) => id === mergeRequest.headPipelineId)
  if (pipeline === undefined) throw new Error('the merge request has no pipeline')
  return pipeline
}

function jobNamed(pipeline: Pipeline, name: string): Job {
  const job = latestJobsOf(sandbox.context, pipeline).find((candidate) => candidate.name === name)
  if (job === undefined) throw new Error(`no job ${name}`)
  return job
}

function statuses(pipeline: Pipeline): Record<string, string> {
  return Object.fromEntries(latestJobsOf(sandbox.context, pipeline).map((job) => [job.name, job.status]))
}

describe('a merge request pipeline', () => {
  test('runs its stages one after another, in time', async () => {
    const pipeline = headOf(await openWith(TWO_STAGES))
    expect(pipeline).toMatchObject({
      source: 'merge_request_event',
      ref: 'refs/merge-requests/1/head',
      status: 'pending',
    })
    await pass(1)
    expect(statuses(pipeline)).toEqual({ compile: 'running', unit: 'created', lint: 'created' })
    await pass(10)
    expect(statuses(pipeline)).toEqual({ compile: 'success', unit: 'running', lint: 'running' })
    await pass(6)
    expect(statuses(pipeline)).toEqual({ compile: 'success', unit: 'running', lint: 'success' })
    expect(pipeline).toMatchObject({ status: 'running', finishedAt: null })
    await pass(20)
    expect(pipeline).toMatchObject({ status: 'success', startedAt: expect.any(String), finishedAt: expect.any(String) })
  })

  test('tells of every change of status, in order', async () => {
    await openWith('jobs: { unit: {} }')
    await pass(5)
    expect(heard).toEqual([
      'unit created',
      'unit pending',
      'pipeline pending',
      'unit running',
      'pipeline running',
      'unit success',
      'pipeline success',
    ])
  })

  test('starts anew when the head moves, and becomes the head pipeline', async () => {
    const mergeRequest = await openWith(TWO_STAGES)
    const first = headOf(mergeRequest)
    const sha = await sandbox.push('feature', { 'a.txt': 'a' })
    await pass(1)
    expect(headOf(mergeRequest)).toMatchObject({ sha, status: 'pending' })
    expect(headOf(mergeRequest).id).toBeGreaterThan(first.id)
  })

  test('does not exist without a configuration', async () => {
    await sandbox.push('feature', { 'a.txt': 'a' })
    const mergeRequest = await sandbox.openMergeRequest('feature')
    await ci.idle()
    expect(mergeRequest.headPipelineId).toBeNull()
    expect(sandbox.context.state.pipelines).toEqual([])
  })

  test('fails at once, saying why, when the configuration is broken', async () => {
    const pipeline = headOf(await openWith('jobs: { unit: { seconds: soon } }'))
    expect(pipeline).toMatchObject({ status: 'failed', yamlErrors: expect.stringContaining('jobs:unit:seconds') })
    expect(heard).toEqual(['pipeline failed'])
  })

  test('is skipped when the commit asks for it', async () => {
    const pipeline = headOf(await openWith(TWO_STAGES, 'Change docs [skip ci]'))
    expect(pipeline.status).toBe('skipped')
    expect(jobsOf(sandbox.context, pipeline)).toEqual([])
  })

  test('leaves out jobs that are meant for branches', async () => {
    const pipeline = headOf(await openWith('jobs: { unit: {}, publish: { only: branches } }'))
    expect(statuses(pipeline)).toEqual({ unit: 'pending' })
  })
})

describe('a branch pipeline', () => {
  test('starts on a push to the default branch only, unless the file says otherwise', async () => {
    await sandbox.push('feature', { '.sandbox-ci.yml': TWO_STAGES })
    const sha = await sandbox.push('main', { '.sandbox-ci.yml': TWO_STAGES })
    await sandbox.push('other', { '.sandbox-ci.yml': `workflow: { branches: all }\n${TWO_STAGES}` })
    await ci.idle()
    expect(sandbox.context.state.pipelines).toMatchObject([
      { ref: 'main', sha, source: 'push', mergeRequestIid: null },
      { ref: 'other', source: 'push' },
    ])
  })
})

describe('a failing job', () => {
  const FAILS_ONCE = `
stages: [build, test]
jobs:
  compile: { stage: build, outcomes: [{ status: failed, failure_reason: runner_system_failure, log: "no space" }, success] }
  unit: { stage: test }
`

  test('fails the pipeline with its reason and skips what follows', async () => {
    const pipeline = headOf(await openWith(FAILS_ONCE))
    await pass(5)
    expect(pipeline.status).toBe('failed')
    expect(statuses(pipeline)).toEqual({ compile: 'failed', unit: 'skipped' })
    const job = jobNamed(pipeline, 'compile')
    expect(job.failureReason).toBe('runner_system_failure')
    expect(job.trace).toContain('no space')
    expect(job.trace).toContain('section_start:')
    expect(job.trace).toContain('\u001b[31;1mERROR')
  })

  test('runs again as a new job in the same pipeline, and so does what was skipped', async () => {
    const pipeline = headOf(await openWith(FAILS_ONCE))
    await pass(5)
    const failed = jobNamed(pipeline, 'compile')
    const again = retryJob(sandbox.context, failed, sandbox.user.id)
    expect(again).toMatchObject({ attempt: 2, status: 'pending', pipelineId: pipeline.id, failureReason: null })
    expect(failed.retried).toBe(true)
    expect(pipeline).toMatchObject({ status: 'pending', finishedAt: null })
    await pass(5)
    expect(statuses(pipeline)).toEqual({ compile: 'success', unit: 'success' })
    expect(pipeline.status).toBe('success')
    expect(jobsOf(sandbox.context, pipeline)).toHaveLength(3)
  })

  test('passes with warnings when it may fail', async () => {
    const pipeline = headOf(await openWith('jobs: { unit: { outcomes: [failed], allow_failure: true } }'))
    await pass(5)
    expect(statuses(pipeline)).toEqual({ unit: 'failed' })
    expect(pipeline.status).toBe('success')
  })

  test('is run again with the pipeline, the others are not', async () => {
    const pipeline = headOf(await openWith('jobs: { good: {}, bad: { outcomes: [failed, success] } }'))
    await pass(5)
    const good = jobNamed(pipeline, 'good')
    retryPipeline(sandbox.context, pipeline, sandbox.user.id)
    await pass(5)
    expect(jobNamed(pipeline, 'good').id).toBe(good.id)
    expect(jobNamed(pipeline, 'bad')).toMatchObject({ attempt: 2, status: 'success' })
    expect(pipeline.status).toBe('success')
  })
})

describe('a manual job', () => {
  test('that may not fail holds the pipeline until it is played', async () => {
    const pipeline = headOf(
      await openWith(`
stages: [gate, test]
jobs:
  approve: { stage: gate, when: manual, allow_failure: false }
  unit: { stage: test }
`),
    )
    await pass(60)
    expect(pipeline.status).toBe('manual')
    playJob(sandbox.context, jobNamed(pipeline, 'approve'))
    await pass(5)
    expect(pipeline.status).toBe('success')
  })

  test('that may fail holds nobody', async () => {
    const pipeline = headOf(await openWith('jobs: { unit: {}, publish: { when: manual } }'))
    await pass(5)
    expect(statuses(pipeline)).toEqual({ unit: 'success', publish: 'manual' })
    expect(pipeline.status).toBe('success')
  })
})

describe('canceling', () => {
  test('stops every job, running or not', async () => {
    const pipeline = headOf(await openWith(TWO_STAGES))
    await pass(1)
    cancelPipeline(sandbox.context, pipeline)
    await pass(60)
    expect(statuses(pipeline)).toEqual({ compile: 'canceled', unit: 'canceled', lint: 'canceled' })
    expect(pipeline.status).toBe('canceled')
  })

  test('happens by itself to a pipeline that a newer commit made redundant before it started', async () => {
    const first = headOf(await openWith(TWO_STAGES))
    await sandbox.push('feature', { 'a.txt': 'a' })
    await pass(0.1)
    expect(first.status).toBe('canceled')
  })

  test('spares a redundant pipeline once a job has started, unless the job is interruptible', async () => {
    const mergeRequest = await openWith(TWO_STAGES)
    const first = headOf(mergeRequest)
    await pass(1)
    await sandbox.push('feature', { '.sandbox-ci.yml': 'jobs: { unit: { seconds: 60, interruptible: true } }' })
    await pass(1)
    await pass(1)
    const second = headOf(mergeRequest)
    expect([first.status, second.status]).toEqual(['running', 'running'])
    await sandbox.push('feature', { 'b.txt': 'b' })
    await pass(1)
    expect(second.status).toBe('canceled')
  })
})

test('a restart takes running and pending jobs up where they were', async () => {
  await openWith(TWO_STAGES)
  await pass(4)
  await ci.stop()
  await sandbox.context.close()

  const again = createSandboxGitLab({ dataDir: sandbox.context.dataDir, clock: sandbox.clock })
  const [pipeline] = again.state.pipelines
  const jobs = () => Object.fromEntries(again.state.jobs.map((job) => [job.name, job.status]))
  ci = startCi(again)
  sandbox.clock.advance(5_000)
  expect(jobs()).toMatchObject({ compile: 'running' })
  sandbox.clock.advance(2_000)
  expect(jobs()).toMatchObject({ compile: 'success', unit: 'running' })
  sandbox.clock.advance(30_000)
  expect(pipeline?.status).toBe('success')
  await again.close()
})
