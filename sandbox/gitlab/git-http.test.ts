import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { silentLog } from '../../src/lib/log.ts'
import { DEVELOPER, GUEST } from './auth.ts'
import { branchHead, ZERO_SHA } from './git/repository.ts'
import { registerGitHttp } from './git-http.ts'
import { packet } from './git-push.ts'
import { registerPages } from './pages/routes.ts'
import { buildServer } from './server.ts'
import type { Push } from './state.ts'
import { openTestSandbox, TEST_TOKEN, type TestSandbox } from './test-support.ts'
import { createUser } from './users.ts'

const run = promisify(execFile)

let sandbox: TestSandbox
let app: FastifyInstance
let base: string
let work: string
let pushes: Push[]

beforeEach(async () => {
  await start()
  work = await mkdtemp(join(tmpdir(), 'git-http-'))
})

afterEach(async () => {
  await app.close()
  await sandbox.remove()
  await rm(work, { recursive: true, force: true })
})

async function start(given: Parameters<typeof openTestSandbox>[0] = {}) {
  sandbox = await openTestSandbox(given)
  app = buildServer(silentLog)
  registerPages(app, sandbox.context)
  registerGitHttp(app, sandbox.context)
  base = await app.listen({ host: '127.0.0.1', port: 0 })
  pushes = []
  sandbox.context.signals.on('push', (push) => pushes.push(push))
}

function remote(token: string = TEST_TOKEN): string {
  return `${base.replace('http://', `http://any:${token}@`)}/group/sub/widgets.git`
}

/** Runs git as somebody's own machine would; answers what it printed. */
async function git(directory: string, ...args: string[]): Promise<string> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: work,
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Dev',
    GIT_AUTHOR_EMAIL: 'dev@sandbox.invalid',
    GIT_COMMITTER_NAME: 'Dev',
    GIT_COMMITTER_EMAIL: 'dev@sandbox.invalid',
    LC_ALL: 'C',
  }
  const { stdout, stderr } = await run('git', ['-C', directory, ...args], { env, timeout: 20_000 })
  return stdout + stderr
}

async function clone(token?: string): Promise<string> {
  const directory = join(work, 'clone')
  await git(work, 'clone', '--quiet', remote(token), directory)
  return directory
}

async function commit(directory: string, path: string, content: string): Promise<string> {
  await writeFile(join(directory, path), content)
  await git(directory, 'add', '.')
  await git(directory, 'commit', '--quiet', '-m', `Change ${path}`)
  return (await git(directory, 'rev-parse', 'HEAD')).trim()
}

function developer(): string {
  const user = createUser(sandbox.context, { username: 'dev', token: 'developer-token' })
  sandbox.project.members[user.id] = DEVELOPER
  return 'developer-token'
}

describe('reading', () => {
  test('a clone holds the files, and a fetch brings what came later', async () => {
    const directory = await clone()
    expect(await readFile(join(directory, 'README.md'), 'utf8')).toBe('# Widgets\n')
    const sha = await sandbox.push('feature/new', { 'a.txt': 'a' })
    await git(directory, 'fetch', '--quiet')
    expect((await git(directory, 'rev-parse', 'origin/feature/new')).trim()).toBe(sha)
  })

  test('many clients at once are each answered in full', async () => {
    const listings = await Promise.all(Array.from({ length: 30 }, () => git(work, 'ls-remote', remote(), 'main')))
    expect(new Set(listings).size).toBe(1)
    expect(listings[0]).toContain('refs/heads/main')
  })

  test('the older protocol works as well', async () => {
    const listed = await git(work, '-c', 'protocol.version=0', 'ls-remote', remote())
    expect(listed).toContain('refs/heads/main')
  })

  test('a merge request head can be fetched by its reference', async () => {
    const sha = await sandbox.push('feature', { 'a.txt': 'a' })
    await sandbox.openMergeRequest('feature')
    sandbox.clock.advance(1000)
    await sandbox.context.exclusive(sandbox.project, async () => {})
    expect(await git(work, 'ls-remote', remote(), 'refs/merge-requests/1/head')).toContain(sha)
  })
})

describe('who may', () => {
  const info = '/group/sub/widgets.git/info/refs?service=git-upload-pack'
  const basic = (token: string) => ({ authorization: `Basic ${Buffer.from(`any:${token}`).toString('base64')}` })

  test('without or with a wrong token: 401 that asks for Basic', async () => {
    for (const headers of [{}, basic('wrong'), { authorization: 'Basic ???' }]) {
      const response = await fetch(`${base}${info}`, { headers })
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Basic realm="GitLab"')
    }
    await expect(git(work, 'clone', remote('wrong'), 'x')).rejects.toThrow(/Authentication failed/)
  })

  test('a project that does not exist or is not visible: 404', async () => {
    createUser(sandbox.context, { username: 'stranger', token: 'stranger-token' })
    const missing = await fetch(`${base}/group/none.git/info/refs?service=git-upload-pack`, {
      headers: basic(TEST_TOKEN),
    })
    const hidden = await fetch(`${base}${info}`, { headers: basic('stranger-token') })
    expect([missing.status, hidden.status]).toEqual([404, 404])
  })

  test('a guest may not download', async () => {
    const guest = createUser(sandbox.context, { username: 'guest', token: 'guest-token' })
    sandbox.project.members[guest.id] = GUEST
    expect((await fetch(`${base}${info}`, { headers: basic('guest-token') })).status).toBe(403)
  })

  test('the old file-by-file protocol is not served', async () => {
    const response = await fetch(`${base}/group/sub/widgets.git/info/refs`, { headers: basic(TEST_TOKEN) })
    expect(response.status).toBe(403)
  })
})

describe('pushing', () => {
  test('moves branches, and tells of each one', async () => {
    const directory = await clone()
    const before = (await git(directory, 'rev-parse', 'HEAD')).trim()
    const sha = await commit(directory, 'a.txt', 'a')
    await git(directory, 'push', '--quiet', 'origin', 'HEAD:main', 'HEAD:refs/heads/topic/one')
    expect(await branchHead(sandbox.context.git(sandbox.project), 'main')).toBe(sha)
    expect(pushes).toMatchObject([
      { branch: 'main', before, after: sha, userId: sandbox.user.id, branchesInPush: 2 },
      { branch: 'topic/one', before: ZERO_SHA, after: sha },
    ])
  })

  test('deletes a branch', async () => {
    const sha = await sandbox.push('old', { 'a.txt': 'a' })
    pushes.length = 0
    const directory = await clone()
    await git(directory, 'push', '--quiet', 'origin', ':old')
    expect(pushes).toMatchObject([{ branch: 'old', before: sha, after: ZERO_SHA }])
  })

  test('carries a pack too large for one packet', async () => {
    const directory = await clone()
    const noise = Array.from({ length: 60_000 }, (_, index) => `${index * 2_654_435_761}`).join('\n')
    const sha = await commit(directory, 'large.txt', noise)
    await git(directory, '-c', 'http.postBuffer=4096', 'push', '--quiet', 'origin', 'HEAD:large')
    expect(await branchHead(sandbox.context.git(sandbox.project), 'large')).toBe(sha)
  })

  test('to a protected branch is declined for a developer, and nothing else of that push happens', async () => {
    const directory = await clone(developer())
    await commit(directory, 'a.txt', 'a')
    const pushing = git(directory, 'push', 'origin', 'HEAD:main', 'HEAD:other')
    await expect(pushing).rejects.toThrow(/You are not allowed to push code to protected branches on this project/)
    await expect(pushing).rejects.toThrow(/pre-receive hook declined/)
    expect(await branchHead(sandbox.context.git(sandbox.project), 'other')).toBeNull()
    expect(pushes).toEqual([])
  })

  test('never rewrites a protected branch, while an unprotected one may be', async () => {
    const directory = await clone()
    await commit(directory, 'a.txt', 'a')
    await git(directory, 'push', '--quiet', 'origin', 'HEAD:main', 'HEAD:free')
    await git(directory, 'commit', '--quiet', '--amend', '-m', 'Rewritten')
    await expect(git(directory, 'push', '--force', 'origin', 'HEAD:main')).rejects.toThrow(/non-fast-forward/)
    await git(directory, 'push', '--quiet', '--force', 'origin', 'HEAD:free')
    expect(pushes.map(({ branch }) => branch)).toEqual(['main', 'free', 'free'])
  })

  test('cannot delete the default branch or write outside branches and tags', async () => {
    const directory = await clone()
    await expect(git(directory, 'push', 'origin', ':main')).rejects.toThrow(
      /default branch of a project cannot be deleted/,
    )
    await expect(git(directory, 'push', 'origin', 'HEAD:refs/merge-requests/9/head')).rejects.toThrow(
      /branches and tags/,
    )
    await git(directory, 'push', '--quiet', 'origin', 'HEAD:refs/tags/v1')
    expect(pushes).toEqual([])
  })

  test('into an empty project makes the first branch its default', async () => {
    await app.close()
    await sandbox.remove()
    await start({ files: {} })
    const directory = await clone()
    await git(directory, 'checkout', '--quiet', '-b', 'trunk')
    await commit(directory, 'a.txt', 'a')
    await git(directory, 'push', '--quiet', 'origin', 'trunk')
    expect(sandbox.project).toMatchObject({ defaultBranch: 'trunk', emptyRepo: false })
  })
})

test('a compressed request is understood', async () => {
  const head = await branchHead(sandbox.context.git(sandbox.project), 'main')
  const want = Buffer.concat([packet(`want ${head} no-progress\n`), Buffer.from('0000'), packet('done\n')])
  const response = await fetch(`${base}/group/sub/widgets.git/git-upload-pack`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`any:${TEST_TOKEN}`).toString('base64')}`,
      'content-type': 'application/x-git-upload-pack-request',
      'content-encoding': 'gzip',
    },
    body: new Uint8Array(gzipSync(want)),
  })
  const body = Buffer.from(await response.arrayBuffer())
  expect(response.headers.get('content-type')).toBe('application/x-git-upload-pack-result')
  expect(body.includes('PACK')).toBe(true)
})

test('a client that goes away in the middle of a push leaves the project usable', async () => {
  const commands = packet(`${ZERO_SHA} ${'1'.repeat(40)} refs/heads/broken\0report-status side-band-64k`)
  const request = connect(Number(new URL(base).port), '127.0.0.1')
  await once(request, 'connect')
  request.write(
    [
      'POST /group/sub/widgets.git/git-receive-pack HTTP/1.1',
      'host: sandbox',
      `authorization: Basic ${Buffer.from(`any:${TEST_TOKEN}`).toString('base64')}`,
      'content-type: application/x-git-receive-pack-request',
      'content-length: 100000',
      '',
      '',
    ].join('\r\n'),
  )
  request.write(Buffer.concat([commands, Buffer.from('0000PACK')]))
  request.destroy()
  const directory = await clone()
  await commit(directory, 'a.txt', 'a')
  await git(directory, 'push', '--quiet', 'origin', 'HEAD:after')
  expect(pushes).toMatchObject([{ branch: 'after' }])
})

test('a push request that is none is refused', async () => {
  const response = await fetch(`${base}/group/sub/widgets.git/git-receive-pack`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`any:${TEST_TOKEN}`).toString('base64')}`,
      'content-type': 'application/x-git-receive-pack-request',
    },
    body: 'hello there',
  })
  expect(response.status).toBe(400)
})
