/** The GitLab port over REST. */
import { type Log, silentLog } from '../lib/log.ts'
import { type BreakerView, createBreaker } from './breaker.ts'
import { type BreakerSettings, breakerSchema } from './config.ts'
import { type ConnectionOptions, createConnection } from './connection.ts'
import { jobCalls } from './jobs.ts'
import { mergeRequestCalls, noteCalls } from './merge-requests.ts'
import type { GitLab } from './port.ts'
import { projectCalls } from './projects.ts'
import { proofCalls } from './proof.ts'
import { repositoryCalls } from './repository.ts'

export interface GitLabOptions extends ConnectionOptions {
  /** Of the configuration; its defaults when left out. */
  readonly breaker?: BreakerSettings
  readonly log?: Log
  /** For tests, which hold the breaker's clock. */
  readonly now?: () => number
}

/** The port, and what the operator may ask about it. */
export interface GitLabClient extends GitLab {
  /** The outside hosts behind the port, and whether they may be called. */
  breakers(): readonly BreakerView[]
}

/** Opens nothing: the first call is the first connection. */
export function createGitLab({ breaker: settings, log = silentLog, now, ...options }: GitLabOptions): GitLabClient {
  const breaker = createBreaker(new URL(options.url).host, settings ?? breakerSchema.parse({}), log, now)
  const connection = createConnection(options, breaker)
  return {
    ...projectCalls(connection),
    ...repositoryCalls(connection),
    ...mergeRequestCalls(connection),
    ...noteCalls(connection),
    ...proofCalls(connection),
    ...jobCalls(connection),
    breakers: () => [breaker.view()],
  }
}
