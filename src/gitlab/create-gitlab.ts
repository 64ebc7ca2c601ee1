/** The GitLab port over REST. */
import { type ConnectionOptions, createConnection } from './connection.ts'
import { mergeRequestCalls, noteCalls } from './merge-requests.ts'
import type { GitLab } from './port.ts'
import { projectCalls } from './projects.ts'
import { repositoryCalls } from './repository.ts'

export type GitLabOptions = ConnectionOptions

/** Opens nothing: the first call is the first connection. */
export function createGitLab(options: GitLabOptions): GitLab {
  const connection = createConnection(options)
  return {
    ...projectCalls(connection),
    ...repositoryCalls(connection),
    ...mergeRequestCalls(connection),
    ...noteCalls(connection),
  }
}
