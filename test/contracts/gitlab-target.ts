/**
 * Which GitLab the contract suite talks to: chosen here and nowhere else. The suite itself knows an address, two tokens
 * and how to write down a pipeline; it makes its projects over the API. Today the target is the sandbox.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startSandboxGitLab } from '../../sandbox/gitlab/sandbox.ts'
import { createUser } from '../../sandbox/gitlab/users.ts'

export interface GitLabTarget {
  /** Without a trailing slash and without `/api/v4`. */
  readonly url: string
  /** A user who may create projects; owner of those the suite makes. */
  readonly ownerToken: string
  /** Another user, whom the suite takes into its projects as a developer. */
  readonly developer: { readonly id: number; readonly token: string }
  /** The pipeline configuration, in the target's own language: a file's path and content. */
  pipelineFile(jobs: readonly ContractJob[]): { readonly path: string; readonly content: string }
  close(): Promise<void>
}

export interface ContractJob {
  readonly name: string
  readonly stage: 'build' | 'test'
  readonly prints: string
  /** A job that `fails once` is green at its second attempt. */
  readonly ends: 'green' | 'fails once' | 'waits for a person'
}

export function openGitLabTarget(): Promise<GitLabTarget> {
  return sandboxTarget()
}

async function sandboxTarget(): Promise<GitLabTarget> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sandbox-contract-'))
  const sandbox = await startSandboxGitLab({ dataDir, timeScale: 20 })
  createUser(sandbox.context, { username: 'olga', name: 'Olga Owner', token: 'contract-owner-token' })
  const developer = createUser(sandbox.context, { username: 'dan', name: 'Dan', token: 'contract-developer-token' })
  return {
    url: sandbox.url,
    ownerToken: 'contract-owner-token',
    developer: { id: developer.id, token: 'contract-developer-token' },
    pipelineFile: (jobs) => ({
      path: '.sandbox-ci.yml',
      content: JSON.stringify({
        stages: ['build', 'test'],
        jobs: Object.fromEntries(jobs.map((job) => [job.name, sandboxJob(job)])),
      }),
    }),
    async close() {
      await sandbox.close()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

function sandboxJob({ stage, prints, ends }: ContractJob): object {
  const job = { stage, seconds: 1, log: prints }
  if (ends === 'waits for a person') return { ...job, when: 'manual', allow_failure: true }
  if (ends === 'fails once') return { ...job, outcomes: ['failed', 'success'] }
  return job
}
