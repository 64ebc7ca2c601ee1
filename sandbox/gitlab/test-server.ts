/**
 * A whole sandbox over HTTP for tests: on a free port, on a clock that stands still, with one project and a user of each
 * kind, and a small client that keeps status, headers and bytes apart.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEVELOPER, MAINTAINER, REPORTER } from './auth.ts'
import { ManualClock } from './context.ts'
import { branchHead, treeEntry } from './git/repository.ts'
import { createProject, type NewProject } from './projects.ts'
import { type OpenSandbox, type RunningSandbox, startSandboxGitLab } from './sandbox.ts'
import type { Project, User } from './state.ts'
import { createUser } from './users.ts'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
  readonly text: string
  /** The body as JSON; tests say which shape they expect. */
  readonly json: Record<string, unknown>
  /** The body as a JSON list. */
  readonly list: readonly Record<string, unknown>[]
}

export type Who = 'root' | 'maintainer' | 'developer' | 'reporter' | 'stranger'

export interface TestServer {
  readonly url: string
  readonly context: OpenSandbox
  readonly faults: RunningSandbox['faults']
  readonly writes: RunningSandbox['writes']
  readonly clock: ManualClock
  readonly project: Project
  readonly users: Readonly<Record<Who, User>>
  /** A call below `/api/v4/projects/<the project>`; absolute below `/api/v4` when the path starts with two slashes. */
  call(method: string, path: string, body?: unknown, who?: Who | null): Promise<Answer>
  raw(path: string, init: RequestInit): Promise<Answer>
  /** Lets time pass and everything that became due run to its end. */
  pass(ms: number): Promise<void>
  /** Commits text files to `branch`, made from the default branch if it is not there. */
  commit(branch: string, files: Readonly<Record<string, string>>): Promise<string>
  /** The number of a new merge request, prepared. */
  open(sourceBranch: string, more?: Readonly<Record<string, unknown>>): Promise<number>
  restart(): Promise<TestServer>
  remove(): Promise<void>
}

function tokenFor(who: Who): string {
  return `token-of-${who}`
}

async function read(response: Response): Promise<Answer> {
  const bytes = Buffer.from(await response.arrayBuffer())
  const text = bytes.toString('utf8')
  const parse = () => JSON.parse(text)
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    text,
    get json() {
      return parse()
    },
    get list() {
      return parse()
    },
  }
}

type Served = Omit<TestServer, 'restart' | 'remove'> & { close(): Promise<void> }

async function serve(dataDir: string, clock: ManualClock, path: string): Promise<Served> {
  const sandbox = await startSandboxGitLab({ dataDir, clock })
  const { context, url, faults, writes } = sandbox
  const named = (who: Who) => {
    const user = context.findUserByName(who)
    if (!user) throw new Error(`no user ${who}`)
    return user
  }
  const project = context.findProject(path)
  if (!project) throw new Error(`no project ${path}`)
  const raw = async (to: string, init: RequestInit) => read(await fetch(`${url}${to}`, { redirect: 'manual', ...init }))
  const call: TestServer['call'] = (method, to, body, who = 'maintainer') => {
    const target = to.startsWith('//') ? to.slice(1) : `/projects/${encodeURIComponent(path)}${to}`
    const headers: Record<string, string> = who === null ? {} : { 'private-token': tokenFor(who) }
    if (body !== undefined) headers['content-type'] = 'application/json'
    return raw(`/api/v4${target}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  }
  const pass = async (ms: number) => {
    clock.advance(ms)
    await context.idle()
  }
  const commit: TestServer['commit'] = async (branch, files) => {
    const repo = context.git(project)
    const there = (await branchHead(repo, branch)) !== null
    const start = there ? branch : project.defaultBranch
    const actions = []
    for (const [file, content] of Object.entries(files)) {
      const known = (await treeEntry(repo, `refs/heads/${start}`, file)) !== null
      actions.push({ action: known ? 'update' : 'create', file_path: file, content })
    }
    const body = { branch, commit_message: `Change ${branch}`, actions, ...(there ? {} : { start_branch: start }) }
    const answer = await call('POST', '/repository/commits', body)
    if (answer.status !== 201) throw new Error(`commit answered ${answer.status} ${answer.text}`)
    return String(answer.json['id'])
  }
  const open: TestServer['open'] = async (source, more = {}) => {
    const body = { source_branch: source, target_branch: project.defaultBranch, title: `Merge ${source}`, ...more }
    const answer = await call('POST', '/merge_requests', body)
    if (answer.status !== 201) throw new Error(`create answered ${answer.status} ${answer.text}`)
    await pass(1_000)
    return Number(answer.json['iid'])
  }
  const users = {
    root: named('root'),
    maintainer: named('maintainer'),
    developer: named('developer'),
    reporter: named('reporter'),
    stranger: named('stranger'),
  }
  return {
    url,
    context,
    faults,
    writes,
    clock,
    project,
    users,
    call,
    raw,
    pass,
    commit,
    open,
    close: () => sandbox.close(),
  }
}

/** Fills a fresh data directory. */
async function fill(dataDir: string, clock: ManualClock, given: Partial<NewProject>): Promise<string> {
  const sandbox = await startSandboxGitLab({ dataDir, clock })
  const { context } = sandbox
  const make = (who: Who, admin = false) => createUser(context, { username: who, admin, token: tokenFor(who) })
  make('root', true)
  make('stranger')
  const members = {
    [make('maintainer').id]: MAINTAINER,
    [make('developer').id]: DEVELOPER,
    [make('reporter').id]: REPORTER,
  }
  const path = 'Group/sub/Widgets'
  await createProject(context, { path, files: { 'README.md': '# Widgets\n' }, members, ...given })
  await sandbox.close()
  return path
}

export async function startTestServer(given: Partial<NewProject> = {}): Promise<TestServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sandbox-gitlab-'))
  const clock = new ManualClock()
  const path = await fill(dataDir, clock, given)
  const start = async (): Promise<TestServer> => {
    const { close, ...server } = await serve(dataDir, clock, path)
    return {
      ...server,
      async restart() {
        await close()
        return start()
      },
      async remove() {
        await close()
        await rm(dataDir, { recursive: true, force: true })
      },
    }
  }
  return start()
}
