/**
 * What every part of the sandbox shares: the records, the signals, the clock, git, and the few look-ups all of them need.
 * Parts take a SandboxContext and never import the server. Whoever changes a record calls `save()` afterwards; whoever
 * writes to a repository or decides on a record that a write depends on does it inside `exclusive(project, …)`.
 */
import type { Log } from '../../src/lib/log.ts'
import type { Clock } from './clock.ts'
import type { Repository } from './git/repository.ts'
import type { Group, MergeRequest, Project, Signals, State, User } from './state.ts'

export { type Clock, createRealClock, ManualClock, type TimerHandle } from './clock.ts'

export interface SandboxContext {
  readonly dataDir: string
  readonly state: State
  readonly signals: Signals
  readonly clock: Clock
  /** How many times faster than life delays and jobs run: a delay is `ms / timeScale`. */
  readonly timeScale: number
  readonly log: Log
  /** Without a trailing slash; set once the server listens. */
  externalUrl: string
  /** How long after a push merge requests still show their old head; changed by `PUT /sandbox/refresh-delay`. */
  refreshDelayMs: number
  /** A fresh record number; one series for all kinds of records. */
  nextId(): number
  /** The clock's time as in REST answers: ISO 8601, UTC, milliseconds. */
  timestamp(): string
  /** Says that records changed; the file is written soon after, several changes at once. */
  save(): void
  /** Resolves when all changes so far are on disk. */
  flush(): Promise<void>
  /** The project's bare repository. */
  git(project: Project): Repository
  /** Runs one writer of a project at a time. Not re-entrant: never call it from inside itself. */
  exclusive<T>(project: Project, run: () => Promise<T>): Promise<T>
  /** Runs `task` after `ms / timeScale`; an error is logged. Never runs after the sandbox was closed. */
  later(ms: number, what: string, task: () => void | Promise<void>): void
  /** By number, or by full path in any case. */
  findProject(idOrPath: number | string): Project | null
  /** The project that was at this path before it was renamed or moved. */
  findMovedProject(path: string): Project | null
  findGroup(idOrPath: number | string): Group | null
  findMergeRequest(projectId: number, iid: number): MergeRequest | null
  findUser(id: number): User | null
  findUserByName(username: string): User | null
  /** The user a token belongs to. */
  userOf(token: string): User | null
  /** The highest of the project and the groups above it. 0: the user does not see it; administrators count as owners. */
  accessLevel(project: Project, user: User): number
}
