/** What GitLab promises about pipelines, jobs, their logs, and hooks. */
import { afterAll, beforeAll, beforeEach, describe, expect, type TestContext, test } from 'vitest'
import { type ContractProject, createContractProject, eventually, refusalOf } from './gitlab-client.ts'
import { type GitLabTarget, openGitLabTarget } from './gitlab-target.ts'

const OVER = ['success', 'failed', 'canceled', 'skipped']

let target: GitLabTarget
let project: ContractProject
let iid: number

/** The newest pipeline of the merge request, once it is over. */
async function finishedPipeline() {
  const { owner, id } = project
  const [newest] = await eventually(
    () => owner.MergeRequests.allPipelines(id, iid),
    (rows) => OVER.includes(rows[0]?.status ?? ''),
  )
  if (newest === undefined) throw new Error('no pipeline')
  return owner.Pipelines.show(id, newest.id)
}

/** Pipelines end where somebody runs their jobs. */
function needsRunners({ skip }: TestContext): void {
  skip(!target.runsJobs, 'this GitLab has no runners for it (GITLAB_CONTRACT_RUNNERS)')
}

beforeAll(async () => {
  target = await openGitLabTarget()
  project = await createContractProject(target, 'pipelines')
  const file = target.pipelineFile([
    { name: 'compile', stage: 'build', prints: 'compiling\n', ends: 'fails once' },
    { name: 'unit', stage: 'test', prints: '12 tests passed\n', ends: 'green' },
    { name: 'publish', stage: 'test', prints: 'published\n', ends: 'waits for a person' },
  ])
  const opened = await project.open('topic/ci', { [file.path]: file.content })
  iid = opened.iid
})

afterAll(() => target.close())

test('without a configuration there is no pipeline, and none can be asked for', async () => {
  const bare = await createContractProject(target, 'no-pipelines')
  const opened = await bare.open('topic')
  expect(await bare.owner.MergeRequests.allPipelines(bare.id, opened.iid)).toEqual([])
  expect((await refusalOf(bare.owner.Pipelines.create(bare.id, 'main'))).status).toBe(400)
  expect((await refusalOf(bare.owner.MergeRequests.createPipeline(bare.id, opened.iid))).status).toBe(405)
  expect((await refusalOf(bare.owner.Pipelines.show(bare.id, 1))).status).toBe(404)
})

describe('a merge request pipeline that fails and is retried', () => {
  beforeEach(needsRunners)

  test('fails with the job, skips what follows, and is the head pipeline', async () => {
    const { owner, id } = project
    const pipeline = await finishedPipeline()
    expect(pipeline).toMatchObject({
      status: 'failed',
      source: 'merge_request_event',
      ref: `refs/merge-requests/${iid}/head`,
      yaml_errors: null,
      started_at: expect.any(String),
      finished_at: expect.any(String),
    })
    const mergeRequest = await owner.MergeRequests.show(id, iid)
    expect(mergeRequest.head_pipeline).toMatchObject({ id: pipeline.id, sha: mergeRequest.sha, status: 'failed' })
    const jobs = await owner.Jobs.all(id, { pipelineId: pipeline.id })
    const statuses = Object.fromEntries(jobs.map((job) => [job.name, job.status]))
    expect(statuses).toEqual({ compile: 'failed', unit: 'skipped', publish: 'skipped' })
    expect(await owner.Jobs.all(id, { pipelineId: pipeline.id, scope: 'failed' })).toMatchObject([
      { name: 'compile', failure_reason: 'script_failure' },
    ])
    expect(jobs.find((job) => job.name === 'unit')).not.toHaveProperty('failure_reason')
  })

  test('keeps the log of a job as plain text with colours and section marks', async () => {
    const { owner, id } = project
    const pipeline = await finishedPipeline()
    const [job] = await owner.Jobs.all(id, { pipelineId: pipeline.id, scope: 'failed' })
    const log = String(await owner.Jobs.showLog(id, job?.id ?? 0))
    expect(log).toContain('compiling')
    expect(log).toContain('\u001b[')
    expect(log).toMatch(/section_start:\d+:\w+\r/)
  })

  test('retries a job as a new one of the same pipeline, which then goes on', async () => {
    const { owner, developer, id } = project
    const pipeline = await finishedPipeline()
    const [failed] = await owner.Jobs.all(id, { pipelineId: pipeline.id, scope: 'failed' })
    const failedId = failed?.id ?? 0
    const retried = await developer.Jobs.retry(id, failedId)
    expect(retried).toMatchObject({ name: 'compile', pipeline: { id: pipeline.id } })
    expect(retried.id).not.toBe(failedId)
    expect(await refusalOf(owner.Jobs.retry(id, failedId))).toEqual({
      status: 403,
      text: '403 Forbidden - Job is not retryable',
    })
    await eventually(
      () => owner.Pipelines.show(id, pipeline.id),
      (row) => row.status === 'success',
    )
    const latest = await owner.Jobs.all(id, { pipelineId: pipeline.id })
    expect(latest.map((job) => job.id)).not.toContain(failedId)
    const all = await owner.Jobs.all(id, { pipelineId: pipeline.id, includeRetried: true })
    expect(
      all
        .filter((job) => job.name === 'compile')
        .map((job) => job.status)
        .toSorted(),
    ).toEqual(['failed', 'success'])
  })

  test('plays a manual job once', async () => {
    const { owner, id } = project
    const pipeline = await finishedPipeline()
    const [manual] = await owner.Jobs.all(id, { pipelineId: pipeline.id, scope: 'manual' })
    const manualId = manual?.id ?? 0
    expect(await owner.Jobs.play(id, manualId)).toMatchObject({ id: manualId, name: 'publish' })
    expect(await refusalOf(owner.Jobs.play(id, manualId))).toEqual({
      status: 400,
      text: '400 Bad request - Unplayable Job',
    })
    await eventually(
      () => owner.Jobs.show(id, manualId),
      (job) => job.status === 'success',
    )
  })

  test('is listed by its commit, newest first, and has no bridges', async () => {
    const { owner, id } = project
    const pipeline = await finishedPipeline()
    const rows = await owner.Pipelines.all(id, { sha: pipeline.sha })
    expect(rows.map((row) => row.id)).toEqual(rows.map((row) => row.id).toSorted((a, b) => b - a))
    expect(rows.map((row) => row.id)).toContain(pipeline.id)
    expect(await owner.Jobs.allPipelineBridges(id, pipeline.id)).toEqual([])
  })
})

describe('pipelines on request', () => {
  test('start for a branch and for a merge request, and are canceled', async () => {
    const { owner, id } = project
    const made = await owner.Pipelines.create(id, 'topic/ci')
    expect(made).toMatchObject({ ref: 'topic/ci', source: 'api' })
    expect(await owner.Pipelines.cancel(id, made.id)).toMatchObject({ id: made.id })
    await eventually(
      () => owner.Pipelines.show(id, made.id),
      (row) => row.status === 'canceled',
    )
    const again = await owner.MergeRequests.createPipeline(id, iid)
    expect(again).toMatchObject({ source: 'merge_request_event' })
    const mergeRequest = await owner.MergeRequests.show(id, iid)
    expect(mergeRequest.head_pipeline).toMatchObject({ id: again.id })
  })

  test('are refused for a branch that is not there', async () => {
    expect(await refusalOf(project.owner.Pipelines.create(project.id, 'nowhere'))).toEqual({
      status: 400,
      text: JSON.stringify({ base: ['Reference not found'] }),
    })
  })

  test('retry all that failed', async (context) => {
    needsRunners(context)
    const { owner, id } = project
    const sha = await project.commit('topic/ci', { 'again.txt': 'again\n' })
    await eventually(
      () => owner.MergeRequests.allPipelines(id, iid),
      (rows) => rows[0]?.sha === sha && rows[0].status === 'failed',
    )
    const pipeline = await finishedPipeline()
    expect(await owner.Pipelines.retry(id, pipeline.id)).toMatchObject({ id: pipeline.id })
    await eventually(
      () => owner.Pipelines.show(id, pipeline.id),
      (row) => row.status === 'success',
    )
  })
})

test('a status that somebody outside reports makes a pipeline of its own kind', async () => {
  const outside = await createContractProject(target, 'external')
  const { owner, id } = outside
  const opened = await outside.open('topic')
  await owner.Commits.editStatus(id, opened.sha, 'running', { ref: 'topic', name: 'build' })
  const reported = async () => (await owner.MergeRequests.show(id, opened.iid)).head_pipeline
  expect(await eventually(reported, (pipeline) => pipeline?.status === 'running')).toMatchObject({
    source: 'external',
    sha: opened.sha,
    ref: 'topic',
  })
  await owner.Commits.editStatus(id, opened.sha, 'success', { ref: 'topic', name: 'build' })
  await eventually(reported, (pipeline) => pipeline?.status === 'success')
  expect(await owner.Commits.allStatuses(id, opened.sha)).toMatchObject([{ name: 'build', status: 'success' }])
})

test('hooks are made, read, changed and removed; their secret is never shown', async () => {
  const { owner, developer, id } = project
  const made = await owner.ProjectHooks.add(id, 'https://hooks.example.com/gitlab', {
    token: 'very-secret',
    mergeRequestsEvents: true,
    pushEvents: false,
  })
  expect(made).toMatchObject({
    merge_requests_events: true,
    push_events: false,
    pipeline_events: false,
    project_id: id,
  })
  expect(JSON.stringify(made)).not.toContain('very-secret')
  expect((await owner.ProjectHooks.all(id)).map((hook) => hook.id)).toEqual([made.id])
  const changed = await owner.ProjectHooks.edit(id, made.id, made.url, { jobEvents: true })
  expect(changed).toMatchObject({ id: made.id, job_events: true, merge_requests_events: true })
  expect((await refusalOf(developer.ProjectHooks.all(id))).status).toBe(403)
  expect((await refusalOf(owner.ProjectHooks.add(id, 'not an address'))).status).toBe(422)
  await owner.ProjectHooks.remove(id, made.id)
  expect((await refusalOf(owner.ProjectHooks.show(id, made.id))).status).toBe(404)
})
