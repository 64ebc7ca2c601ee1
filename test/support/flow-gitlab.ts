/** The GitLab side of a flow test: the sandbox with one project, a bot for the service, and a person with a clone. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { FaultRuleInput } from '../../sandbox/gitlab/faults/rule.ts'
import { ZERO_SHA } from '../../sandbox/gitlab/git/repository.ts'
import { createProject, type FileContent, type NewProject } from '../../sandbox/gitlab/projects.ts'
import { type RunningSandbox, startSandboxGitLab } from '../../sandbox/gitlab/sandbox.ts'
import type { Project } from '../../sandbox/gitlab/state.ts'
import { createUser } from '../../sandbox/gitlab/users.ts'

const run = promisify(execFile)

/** Jobs of seconds run in tens of milliseconds. */
const TIME_SCALE = 20
export const BOT_TOKEN = 'glpat-flow-test-bot'
const PERSON_TOKEN = 'glpat-flow-test-person'
const MAINTAINER = 40

const GREEN_CI = `
stages: [build, test]
jobs:
  compile: { stage: build, seconds: 1 }
  unit: { stage: test, seconds: 1 }
`

export interface FlowGitLabOptions extends Omit<NewProject, 'path' | 'files'> {
  /** Besides a README and a pipeline that ends green. */
  readonly files?: Readonly<Record<string, FileContent>>
  /** What goes wrong in GitLab from the start; `gitlab.faults` changes it later. */
  readonly faults?: readonly FaultRuleInput[]
}

export interface FlowGitLab {
  readonly gitlab: RunningSandbox
  readonly project: Project
  /**
   * Writes that were seen, pushes and changes of merge requests: `push queue/x`, `open !1`, `delete queue/x`.
   * `gitlab.writes` has them with notes, times and authors.
   */
  readonly writes: readonly string[]
  /** A fresh clone of the project's default branch. */
  clone(): Promise<string>
  git(directory: string, ...args: string[]): Promise<string>
  /** A person pushes this change to the default branch. */
  pushAsPerson(files: Readonly<Record<string, string>>): Promise<void>
  /** The next pipeline that comes to its end. */
  untilPipelineEnded(): Promise<void>
  /** A person approves the merge request. */
  approve(iid: number): Promise<void>
  /** A person's call of the project's API. */
  asPerson(method: string, path: string, body?: object): Promise<void>
}

export async function createFlowGitLab(directory: string, options: FlowGitLabOptions): Promise<FlowGitLab> {
  const { files = {}, faults = [], ...settings } = options
  const gitlab = await startSandboxGitLab({ dataDir: join(directory, 'gitlab'), timeScale: TIME_SCALE, faults })
  const bot = createUser(gitlab.context, { username: 'workqueue-bot', bot: true, token: BOT_TOKEN })
  const person = createUser(gitlab.context, { username: 'ann', token: PERSON_TOKEN })
  const project = await createProject(gitlab.context, {
    path: 'group/widgets',
    files: { '.sandbox-ci.yml': GREEN_CI, 'README.md': '# Widgets\n', ...files },
    members: { [bot.id]: MAINTAINER, [person.id]: MAINTAINER },
    ...settings,
  })
  const writes: string[] = []
  const { signals } = gitlab.context
  signals.on('push', ({ branch, after }) => writes.push(`${after === ZERO_SHA ? 'delete' : 'push'} ${branch}`))
  signals.on('merge_request', ({ action, mergeRequest }) => writes.push(`${action} !${mergeRequest.iid}`))
  let clones = 0

  async function clone(): Promise<string> {
    clones += 1
    const target = join(directory, `clone-${clones}`)
    const source = `http://ann:${PERSON_TOKEN}@${new URL(gitlab.url).host}/${project.pathWithNamespace}.git`
    await run('git', ['clone', '--quiet', source, target])
    return target
  }

  async function asPerson(method: string, path: string, body: object = {}): Promise<void> {
    const response = await fetch(`${gitlab.url}/api/v4/projects/${project.id}${path}`, {
      method,
      headers: { authorization: `Bearer ${PERSON_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}`)
  }

  return {
    gitlab,
    project,
    writes,
    clone,
    git,
    async pushAsPerson(changes) {
      const work = await clone()
      for (const [path, content] of Object.entries(changes)) await writeFile(join(work, path), content)
      await git(work, 'add', '--all')
      await git(work, 'commit', '--quiet', '--message', 'A person was faster')
      await git(work, 'push', '--quiet', 'origin', project.defaultBranch)
    },
    untilPipelineEnded() {
      return new Promise((resolve) => {
        signals.on('pipeline', ({ pipeline }) => {
          if (pipeline.finishedAt !== null) resolve()
        })
      })
    },
    approve: (iid) => asPerson('POST', `/merge_requests/${iid}/approve`),
    asPerson,
  }
}

async function git(cwd: string, ...args: string[]): Promise<string> {
  const identity = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com']
  return (await run('git', [...identity, ...args], { cwd })).stdout.trim()
}
