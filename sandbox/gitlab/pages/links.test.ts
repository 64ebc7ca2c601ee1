import { afterAll, beforeAll, expect, test } from 'vitest'
import { createContractProject, eventually } from '../../../test/contracts/gitlab-client.ts'
import { type GitLabTarget, openGitLabTarget } from '../../../test/contracts/gitlab-target.ts'

let target: GitLabTarget

beforeAll(async () => {
  target = await openGitLabTarget()
})

afterAll(() => target.close())

/** Every `web_url` in an answer, however deep. */
function linksIn(answer: unknown): string[] {
  if (typeof answer !== 'object' || answer === null) return []
  return Object.entries(answer).flatMap(([key, value]) =>
    key === 'web_url' && typeof value === 'string' ? [value] : linksIn(value),
  )
}

test('every web_url of the API leads to a page', async () => {
  const project = await createContractProject(target, 'links')
  const { owner, id } = project
  const file = target.pipelineFile([{ name: 'unit', stage: 'test', prints: 'hello\n', ends: 'green' }])
  const { iid } = await project.open('topic/with-slash', { [file.path]: file.content, 'a b/ü.txt': 'x\n' })
  const [pipeline] = await eventually(
    () => owner.MergeRequests.allPipelines(id, iid),
    (rows) => rows.length === 1,
  )
  const answers = [
    await owner.Projects.show(id),
    await owner.Branches.all(id),
    await owner.Commits.all(id, { refName: 'topic/with-slash' }),
    await owner.Repositories.compare(id, 'main', 'topic/with-slash'),
    await owner.MergeRequests.show(id, iid),
    await owner.MergeRequestNotes.create(id, iid, 'Hello'),
    await owner.Pipelines.show(id, pipeline?.id ?? 0),
    await owner.Jobs.all(id, { pipelineId: pipeline?.id ?? 0 }),
    await owner.Users.showCurrentUser(),
  ]
  const links = [...new Set(answers.flatMap(linksIn))]
  for (const kind of ['/commit/', '/tree/', '/compare/', '/merge_requests/', '/pipelines/', '/jobs/']) {
    expect(
      links.some((link) => link.includes(kind)),
      kind,
    ).toBe(true)
  }
  for (const link of links) {
    const response = await fetch(link)
    expect([link, response.status, response.headers.get('content-type')]).toEqual([
      link,
      200,
      'text/html; charset=utf-8',
    ])
  }
})
