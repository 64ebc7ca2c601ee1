/**
 * Which GitLab the contract suite talks to: chosen here and nowhere else. The suite itself knows an address, two tokens
 * and how to write down a pipeline; it makes its projects over the API. The target is the sandbox, or the GitLab that
 * `GITLAB_CONTRACT_URL` names; what the suite makes there is removed at its end.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Gitlab } from '@gitbeaker/rest'
import { vi } from 'vitest'
import { z } from 'zod'
import { startSandboxGitLab } from '../../sandbox/gitlab/sandbox.ts'
import { createUser } from '../../sandbox/gitlab/users.ts'

export interface GitLabTarget {
  /** Without a trailing slash and without `/api/v4`. */
  readonly url: string
  readonly isSandbox: boolean
  /** Whether it has runners, so that pipelines come to an end. */
  readonly runsJobs: boolean
  /** A user who may create projects; owner of those the suite makes. */
  readonly ownerToken: string
  /** Another user, whom the suite takes into its projects as a developer. */
  readonly developer: { readonly id: number; readonly username: string; readonly token: string }
  /** The group that the suite works in; null: the owner's own namespace, where no group can be made. */
  readonly groupId: number | null
  /** The pipeline configuration, in the target's own language: a file's path and content. */
  pipelineFile(jobs: readonly ContractJob[]): { readonly path: string; readonly content: string }
  /** Contents by path: a pipeline of so many bridges, each of which starts a child pipeline. */
  bridgeFiles(count: number): Readonly<Record<string, string>>
  /** Says that something was made which has to go at the end, the last one first. */
  removeLater(remove: () => Promise<unknown>): void
  close(): Promise<void>
}

export interface ContractJob {
  readonly name: string
  readonly stage: 'build' | 'test'
  readonly prints: string
  /** A job that `fails once` is green at its second attempt. */
  readonly ends: 'green' | 'fails once' | 'waits for a person'
}

const environment = z.object({
  GITLAB_CONTRACT_URL: z.url().optional(),
  GITLAB_CONTRACT_TOKEN: z.string().min(1).optional(),
  GITLAB_CONTRACT_DEVELOPER_TOKEN: z.string().min(1).optional(),
  /** Full path of the group to work in. */
  GITLAB_CONTRACT_GROUP: z.string().min(1).optional(),
  /** Set to `yes` where runners pick up jobs without tags. */
  GITLAB_CONTRACT_RUNNERS: z.enum(['yes', 'no']).default('no'),
})

const GIVEN = environment.parse(process.env)
/** How long the suite waits for what GitLab does in the background. */
export const PATIENCE_MS = GIVEN.GITLAB_CONTRACT_URL === undefined ? 20_000 : 240_000
if (GIVEN.GITLAB_CONTRACT_URL !== undefined) vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

export function openGitLabTarget(): Promise<GitLabTarget> {
  return GIVEN.GITLAB_CONTRACT_URL === undefined ? sandboxTarget() : namedTarget(GIVEN.GITLAB_CONTRACT_URL)
}

async function sandboxTarget(): Promise<GitLabTarget> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sandbox-contract-'))
  const sandbox = await startSandboxGitLab({ dataDir, timeScale: 20 })
  createUser(sandbox.context, { username: 'olga', name: 'Olga Owner', token: 'contract-owner-token' })
  const developer = createUser(sandbox.context, { username: 'dan', name: 'Dan', token: 'contract-developer-token' })
  const file = (jobs: readonly (readonly [name: string, job: object])[]) =>
    JSON.stringify({ stages: ['build', 'test'], jobs: Object.fromEntries(jobs) })
  return {
    url: sandbox.url,
    isSandbox: true,
    runsJobs: true,
    ownerToken: 'contract-owner-token',
    developer: { id: developer.id, username: developer.username, token: 'contract-developer-token' },
    groupId: await createGroup(sandbox.url, 'contract-owner-token'),
    pipelineFile: (jobs) => ({
      path: '.sandbox-ci.yml',
      content: file(jobs.map((job) => [job.name, sandboxJob(job)])),
    }),
    bridgeFiles: (count) => ({ '.sandbox-ci.yml': file(bridgeNames(count).map((name) => [name, { trigger: {} }])) }),
    removeLater() {},
    async close() {
      await sandbox.close()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

async function createGroup(url: string, token: string): Promise<number> {
  const group = await new Gitlab<false>({ host: url, oauthToken: token }).Groups.create('Contract', 'contract')
  return group.id
}

function sandboxJob({ stage, prints, ends }: ContractJob): object {
  const job = { stage, seconds: 1, log: prints }
  if (ends === 'waits for a person') return { ...job, when: 'manual', allow_failure: true }
  if (ends === 'fails once') return { ...job, outcomes: ['failed', 'success'] }
  return job
}

async function namedTarget(address: string): Promise<GitLabTarget> {
  const { GITLAB_CONTRACT_TOKEN: ownerToken, GITLAB_CONTRACT_DEVELOPER_TOKEN: token } = GIVEN
  if (ownerToken === undefined || token === undefined) {
    throw new Error('GITLAB_CONTRACT_URL needs GITLAB_CONTRACT_TOKEN and GITLAB_CONTRACT_DEVELOPER_TOKEN')
  }
  const url = address.replace(/\/+$/, '')
  const user = await new Gitlab<false>({ host: url, oauthToken: token }).Users.showCurrentUser()
  const group = GIVEN.GITLAB_CONTRACT_GROUP
  const owner = new Gitlab<false>({ host: url, oauthToken: ownerToken })
  const made: (() => Promise<unknown>)[] = []
  return {
    url,
    isSandbox: false,
    runsJobs: GIVEN.GITLAB_CONTRACT_RUNNERS === 'yes',
    ownerToken,
    developer: { id: user.id, username: user.username, token },
    groupId: group === undefined ? null : (await owner.Groups.show(group)).id,
    pipelineFile: (jobs) => ({
      path: '.gitlab-ci.yml',
      content: JSON.stringify({ ...PREAMBLE, ...Object.fromEntries(jobs.map((job) => [job.name, gitlabJob(job)])) }),
    }),
    bridgeFiles: (count) => ({
      '.gitlab-ci.yml': JSON.stringify({
        ...PREAMBLE,
        ...Object.fromEntries(bridgeNames(count).map((name) => [name, { trigger: { include: 'child.yml' } }])),
      }),
      'child.yml': JSON.stringify({ child: { script: ['true'], rules: [{ when: 'always' }] } }),
    }),
    removeLater: (remove) => void made.push(remove),
    async close() {
      const outcomes = await Promise.allSettled(
        made
          .splice(0)
          .reverse()
          .map((remove) => remove()),
      )
      const left = outcomes.filter(({ status }) => status === 'rejected').length
      if (left > 0) throw new Error(`${left} of what the suite has made could not be removed`)
    },
  }
}

const PREAMBLE = {
  workflow: {
    rules: [{ if: '$CI_PIPELINE_SOURCE == "merge_request_event"' }, { if: '$CI_PIPELINE_SOURCE == "api"' }],
  },
  stages: ['build', 'test'],
  variables: { GIT_STRATEGY: 'none' },
}

function gitlabJob({ name, stage, prints, ends }: ContractJob): object {
  const job = { stage, script: [`echo '${prints.trim()}'`] }
  if (ends === 'waits for a person') return { ...job, when: 'manual' }
  if (ends === 'green') return job
  // What a first attempt leaves in the cache tells the second one that it is the second.
  const script = [...job.script, 'test -f mark/ran || { mkdir -p mark; touch mark/ran; exit 1; }']
  return { ...job, script, cache: { key: `$CI_PIPELINE_ID-${name}`, paths: ['mark/'], when: 'always' } }
}

function bridgeNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `bridge-${index + 1}`)
}
