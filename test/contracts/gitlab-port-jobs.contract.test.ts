/** What the herder relies on: the runs of a job, the end of its log, and that a run is followed by another only once. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from './gitlab-client.ts'
import { openPortWorld, type PortWorld } from './gitlab-port-world.ts'

let world: PortWorld
let projectId: number
let pipelineId: number

beforeAll(async () => {
  world = await openPortWorld()
  projectId = world.project.id
  const file = world.target.pipelineFile([
    { name: 'compile', stage: 'build', prints: 'compiling\n', ends: 'fails once' },
    { name: 'unit', stage: 'test', prints: '12 tests passed\n', ends: 'green' },
  ])
  await world.commit('herd', { [file.path]: file.content })
  const { iid } = await world.open('herd')
  if (!world.target.runsJobs) return
  const pipeline = await world.headPipeline(iid, ({ status }) => status === 'failed')
  pipelineId = Number(pipeline?.id)
})
afterAll(() => world.target.close())

test('a job that does not exist is null', async () => {
  expect(await world.gitlab.getJob(projectId, 999_999_999)).toBeNull()
  expect(await world.gitlab.getJobLogTail(projectId, 999_999_999, 100)).toBeNull()
})

test('a failed job is run again once, and its runs are told apart', async ({ skip }) => {
  skip(!world.target.runsJobs, 'this GitLab has no runners for it (GITLAB_CONTRACT_RUNNERS)')
  const { gitlab } = world
  const jobs = await gitlab.listJobs(projectId, pipelineId)
  const [failed] = jobs.filter(({ status }) => status === 'failed')
  expect(jobs.find(({ name }) => name === 'unit')).toMatchObject({ status: 'skipped', failureReason: null })
  expect(failed).toMatchObject({
    name: 'compile',
    stage: 'build',
    failureReason: 'script_failure',
    allowFailure: false,
  })
  const jobId = Number(failed?.id)
  expect(await gitlab.getJob(projectId, jobId)).toEqual(failed)

  const log = String(await gitlab.getJobLogTail(projectId, jobId, 100_000))
  expect(log).toContain('compiling')
  const tail = String(await gitlab.getJobLogTail(projectId, jobId, 40))
  expect(tail).toBe(Buffer.from(log).subarray(-40).toString())

  const developer = world.portFor(world.target.developer.token)
  const answer = await developer.retryJob(projectId, jobId)
  expect(answer).toMatchObject({ retried: true, job: { name: 'compile' } })
  expect(await gitlab.retryJob(projectId, jobId)).toEqual({
    retried: false,
    message: '403 Forbidden - Job is not retryable',
  })
  const runs = await eventually(
    async () => (await gitlab.listJobs(projectId, pipelineId)).filter(({ name }) => name === 'compile'),
    (found) => found.some(({ status }) => status === 'success'),
  )
  expect(runs.map(({ status }) => status).toSorted()).toEqual(['failed', 'success'])
})
