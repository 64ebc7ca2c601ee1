/** A job of GitLab submits with the ID token that GitLab made for it, and with nothing else. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { createUser } from '../../sandbox/gitlab/users.ts'
import { createClient } from '../../src/client/client.ts'
import { createFlow, type Flow, type RunningService } from '../support/flow.ts'

const ADMINISTRATOR = 'glpat-flow-test-administrator'
const AUDIENCE = 'https://workqueue.example.com'

let flow: Flow
let service: RunningService
beforeEach(async () => {
  flow = await createFlow()
  const { gitlab, project } = flow
  createUser(gitlab.context, { username: 'administrator', admin: true, token: ADMINISTRATOR })
  const claims = {
    aud: AUDIENCE,
    project_id: String(project.id),
    ref_protected: true,
    pipeline_source: ['push', 'schedule'],
  }
  const limits = { projects: [project.pathWithNamespace], branches: ['updates/**'] }
  service = await flow.start({
    auth: { rules: [{ name: 'widgets-ci', issuer: gitlab.url, claims, permissions: ['submit'], ...limits }] },
  })
})
afterEach(() => flow.stop())

const tokenSchema = z.object({ token: z.string() })

/** As GitLab hands it to a job of this project, on this branch. */
async function jobToken(job: object = {}): Promise<string> {
  const answer = await fetch(`${flow.gitlab.url}/sandbox/id-tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMINISTRATOR}`, 'content-type': 'application/json' },
    body: JSON.stringify({ project: flow.project.pathWithNamespace, ref: 'main', aud: AUDIENCE, ...job }),
  })
  return tokenSchema.parse(await answer.json()).token
}

async function submit(token: string, given: object = {}) {
  const client = createClient({ url: service.url, token })
  return client.submit({
    item_type: 'mr',
    project: flow.project.pathWithNamespace,
    source_branch: 'updates/from-ci',
    title: 'Update from CI',
    file_actions: [{ action: 'upsert', file_path: 'docs/ci.md', content: 'by a job\n' }],
    auto_merge: true,
    ...given,
  })
}

test('on a protected branch of its project it submits, and the change is merged under its name', async () => {
  const { work_item } = await submit(await jobToken())
  await service.audit.waitForPhase(work_item.id, 'completed')
  expect(work_item.caller_identity).toMatch(
    /^jwt:127\.0\.0\.1-\d+:project_path:group\/widgets:ref_type:branch:ref:main$/,
  )
  expect(service.audit.entries).toContainEqual(
    expect.objectContaining({
      event_type: 'auth',
      outcome: 'allowed',
      facts: expect.objectContaining({ rules: ['widgets-ci'] }),
    }),
  )
})

test.each<[string, object, object, string]>([
  ['on a branch that anybody may push', { ref: 'bot/topic' }, {}, 'permission_denied'],
  ['of a pipeline for a merge request', { pipeline_source: 'merge_request_event' }, {}, 'permission_denied'],
  ['meant for another service', { aud: 'https://elsewhere.example.com' }, {}, 'unauthenticated'],
  ['for another project', {}, { project: 'group/other' }, 'permission_denied'],
  ['for a branch that is not its own', {}, { source_branch: 'people/branch' }, 'permission_denied'],
])('a token %s (%j) does not: %j', async (_title, job, given, code) => {
  await expect(submit(await jobToken(job), given)).rejects.toMatchObject({ code })
})
