/** The answers of a whole merge request's life, held against GitLab's own response schemas. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ContractProject, createContractProject, eventually, settled } from './gitlab-client.ts'
import { expectToFit, SCHEMAS_PRESENT } from './gitlab-schemas.ts'
import { type GitLabTarget, openGitLabTarget } from './gitlab-target.ts'

describe.skipIf(!SCHEMAS_PRESENT)('answers fit the schemas of GitLab', () => {
  let target: GitLabTarget
  let project: ContractProject
  let iid: number
  let sha: string

  beforeAll(async () => {
    target = await openGitLabTarget()
    project = await createContractProject(target, 'schemas')
    const file = target.pipelineFile([{ name: 'unit', stage: 'test', prints: 'hello\n', ends: 'fails once' }])
    const opened = await project.open('topic', { [file.path]: file.content })
    iid = opened.iid
    sha = opened.sha
    await settled(project, iid)
  })

  afterAll(() => target.close())

  test('branches and commits', async () => {
    const { owner, id } = project
    expectToFit('branch', await owner.Branches.show(id, 'topic'))
    expectToFit('branches', await owner.Branches.all(id))
    expectToFit('commits', await owner.Commits.all(id))
    expectToFit('commit/detail', await owner.Commits.show(id, sha))
  })

  test('pipelines and jobs, failed ones too', async ({ skip }) => {
    skip(!target.runsJobs, 'this GitLab has no runners for it (GITLAB_CONTRACT_RUNNERS)')
    const { owner, id } = project
    const [pipeline] = await eventually(
      () => owner.MergeRequests.allPipelines(id, iid),
      (rows) => rows[0]?.status === 'failed',
    )
    expectToFit('pipeline/basic', pipeline)
    expectToFit('pipeline/detail', await owner.Pipelines.show(id, pipeline?.id ?? 0))
    const jobs = await owner.Jobs.all(id, { pipelineId: pipeline?.id ?? 0 })
    expect(jobs).toHaveLength(1)
    for (const job of jobs) expectToFit('job', await owner.Jobs.show(id, job.id))
  })

  test('notes and people', async () => {
    const { owner, id } = project
    await owner.MergeRequestNotes.create(id, iid, 'Looks good')
    expectToFit('notes', await owner.MergeRequestNotes.all(id, iid))
    expectToFit('user/basic', (await owner.MergeRequests.show(id, iid)).author)
  })

  test('a merge request, open and merged', async () => {
    const { owner, id } = project
    const open = await owner.MergeRequests.show(id, iid)
    expectToFit('merge_request', open)
    expectToFit('pipeline/detail', open.head_pipeline)
    expectToFit('merge_request', await owner.MergeRequests.merge(id, iid, { sha }))
    expectToFit('merge_request', await owner.MergeRequests.show(id, iid))
  })
})
