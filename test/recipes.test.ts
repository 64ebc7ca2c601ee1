/**
 * The recipes of docs/security.md, run as they stand there: whoever a recipe is for gets in, and its neighbours do not. Only
 * addresses are replaced by those of providers on this machine.
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { may, type Permission, type Scope } from '../src/auth/identity.ts'
import { newToken } from '../src/auth/token.ts'
import { createTestClock, startAuth } from './support/oidc-auth.ts'
import { createSelfSigned } from './support/oidc-certificate.ts'
import { startTestCluster, type TestCluster } from './support/oidc-cluster.ts'
import { type OidcProvider, startOidcProvider } from './support/oidc-provider.ts'

const recipeSchema = z.object({ auth: z.record(z.string(), z.unknown()) })

const clock = createTestClock()
let recipes: ReadonlyMap<string, string>
let provider: OidcProvider
let cluster: TestCluster

beforeAll(async () => {
  const text = await readFile(new URL('../docs/security.md', import.meta.url), 'utf8')
  recipes = new Map(
    [...text.matchAll(/```yaml recipe=(\S+)\n(.*?)```/gs)].map(([, name = '', yaml = '']) => [name, yaml]),
  )
  provider = await startOidcProvider(clock.now)
  cluster = await startTestCluster()
})
afterAll(async () => {
  await provider.close()
  await cluster.close()
})

/** The recipe's `auth`, with these texts in place of those that are not of this machine. */
function recipe(name: string, replacements: Readonly<Record<string, string>> = {}): unknown {
  const yaml = recipes.get(name)
  if (yaml === undefined) throw new Error(`docs/security.md has no recipe ${name}`)
  const text = Object.entries(replacements).reduce((whole, [from, to]) => {
    if (!whole.includes(from)) throw new Error(`the recipe ${name} does not hold ${from}`)
    return whole.replaceAll(from, to)
  }, yaml)
  return recipeSchema.parse(parse(text)).auth
}

const scope = (project: string, sourceBranch: string, paths = ['docs/a.md']): Scope => ({
  ...{ itemType: 'mr', project, sourceBranch, paths },
})

test('every recipe is run here', () => {
  expect([...recipes.keys()]).toEqual(['gitlab-ci', 'github-actions', 'kubernetes', 'openshift', 'static-token'])
})

test('a protected pipeline of the GitLab project gets in, for its project and branches; no other job does', async () => {
  const auth = startAuth(recipe('gitlab-ci', { 'https://gitlab.com': provider.url }), clock)
  const claims = {
    ...{ aud: 'https://workqueue.example.com', sub: 'project_path:group/app:ref_type:branch:ref:main' },
    ...{ project_id: '4711', ref: 'main', ref_protected: 'true', pipeline_source: 'schedule' },
  }
  const { identity } = await auth.authenticate(await provider.token(claims))
  expect(identity?.name).toBe('jwt:gitlab:project_path:group/app:ref_type:branch:ref:main')
  if (identity === null) return
  expect(may(identity, 'submit', scope('group/app', 'updates/a'))).toBe(true)
  expect(may(identity, 'submit', scope('group/app', 'main'))).toBe(false)
  expect(may(identity, 'submit', scope('group/other', 'updates/a'))).toBe(false)
  expect(may(identity, 'cancel', scope('group/app', 'updates/a'))).toBe(false)

  const outcome = async (changes: object) => auth.outcome(await provider.token({ ...claims, ...changes }))
  expect(await outcome({ project_id: '4712' })).toBe('forbidden')
  expect(await outcome({ ref: 'updates/a', ref_protected: 'false' })).toBe('forbidden')
  expect(await outcome({ pipeline_source: 'merge_request_event' })).toBe('forbidden')
  expect(await outcome({ aud: 'https://elsewhere.example.com' })).toBe('401: foreign_audience')
})

test('a workflow of the GitHub repository on its main branch gets in; no other repository, branch or event does', async () => {
  const issuer = { 'https://token.actions.githubusercontent.com': provider.url }
  const auth = startAuth(recipe('github-actions', issuer), clock)
  const claims = {
    ...{ aud: 'https://workqueue.example.com', sub: 'repo:octo/docs:ref:refs/heads/main' },
    ...{ repository_id: '123456789', ref: 'refs/heads/main', event_name: 'push' },
  }
  const { identity } = await auth.authenticate(await provider.token(claims))
  if (identity === null) throw new Error('the workflow did not get in')
  expect(may(identity, 'submit', scope('group/docs', 'sync/a'))).toBe(true)
  expect(may(identity, 'submit', scope('group/docs', 'sync/a', ['src/a.ts']))).toBe(false)

  const outcome = async (changes: object) => auth.outcome(await provider.token({ ...claims, ...changes }))
  expect(await outcome({ repository_id: '987654321' })).toBe('forbidden')
  expect(await outcome({ ref: 'refs/heads/topic' })).toBe('forbidden')
  expect(await outcome({ event_name: 'pull_request', ref: 'refs/pull/1/merge' })).toBe('forbidden')
  const hours = Math.floor(clock.now().getTime() / 1_000) + 7_300
  expect(await outcome({ exp: hours })).toBe('401: lives_too_long')
})

test('the service account gets in; neither its namesake in another namespace nor its token for another service does', async () => {
  const auth = startAuth(recipe('kubernetes'), clock, { place: cluster.place })
  auth.service.start()
  await expect
    .poll(() => auth.outcome(cluster.token(clock.now(), { sub: 'system:serviceaccount:team-a:update-bot' })), {
      timeout: 10_000,
    })
    .toBe('allowed: update-bot')
  const outcome = (claims: object) => auth.outcome(cluster.token(clock.now(), claims))
  expect(await outcome({ sub: 'system:serviceaccount:team-b:update-bot' })).toBe('forbidden')
  expect(await outcome({ sub: 'system:serviceaccount:team-a:default' })).toBe('forbidden')
  const api = ['https://kubernetes.default.svc']
  expect(await outcome({ sub: 'system:serviceaccount:team-a:update-bot', aud: api })).toBe('401: foreign_audience')
  auth.service.stop()
})

test('members of the OpenShift groups get the rights of their group, and others none', async () => {
  const { certificate, key } = createSelfSigned()
  const directory = await mkdtemp(join(tmpdir(), 'workqueue-recipe-'))
  const caFile = join(directory, 'ca.crt')
  await writeFile(caFile, certificate)
  const token = (letter: string) => `sha256~${letter.repeat(43)}`
  const users: Readonly<Record<string, readonly string[]>> = {
    [token('a')]: ['release-managers', 'system:authenticated'],
    [token('b')]: ['workqueue-operators'],
    [token('c')]: ['Release-Managers', 'system:authenticated'],
  }
  const server = createServer({ key, cert: certificate }, (request, response) => {
    const groups = users[request.headers.authorization?.replace('Bearer ', '') ?? '']
    const user = { kind: 'User', apiVersion: 'user.openshift.io/v1', metadata: { name: 'ann', uid: '1' }, groups }
    response
      .writeHead(groups === undefined ? 401 : 200)
      .end(JSON.stringify(groups === undefined ? { kind: 'Status', code: 401 } : user))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const replacements = { 'https://api.cluster.example.com:6443': url, '/etc/workqueue/cluster-ca.crt': caFile }
  const auth = startAuth(recipe('openshift', replacements), clock)

  const { identity } = await auth.authenticate(token('a'))
  if (identity === null) throw new Error('the member did not get in')
  const rights: readonly Permission[] = ['read', 'submit', 'overwrite', 'retry', 'cancel', 'admin']
  expect(rights.filter((right) => may(identity, right, scope('any/project', 'any')))).toEqual([
    'read',
    'retry',
    'cancel',
  ])
  expect(await auth.outcome(token('b'))).toBe('allowed: workqueue-operators')
  expect(await auth.outcome(token('c'))).toBe('forbidden')
  expect(await auth.outcome(token('d'))).toBe('401: unknown_token')
  server.close()
  await rm(directory, { recursive: true })
})

test('the static token gets in until it expires', async () => {
  const { token, sha256 } = newToken()
  const digest = '0c0d1c9f1f6f0a2a4f0c9f6f7a0f5b1e2d3c4b5a69788796a5b4c3d2e1f00112'
  const later = createTestClock()
  const auth = startAuth(recipe('static-token', { [digest]: sha256 }), later)
  expect(await auth.outcome(token)).toBe('allowed: nightly-report')
  expect(await auth.outcome(newToken().token)).toBe('401: unknown_token')
  later.advance(365 * 86_400_000)
  expect(await auth.outcome(token)).toBe('401: expired')
})
