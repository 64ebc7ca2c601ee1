/**
 * Puts the sandbox GitLab together: opens its records and repositories as a SandboxContext, starts the background parts
 * (pipelines, webhooks), registers every route module, and listens. What was under way when the last process ended
 * (checks, rebases, refreshes after a push) is settled at the start.
 */

import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { type Log, silentLog } from '../../src/lib/log.ts'
import { hashToken, OWNER } from './auth.ts'
import { startCi } from './ci/engine.ts'
import { registerCiRoutes } from './ci/routes.ts'
import { registerStatusRoutes } from './ci/statuses.ts'
import { type Clock, createRealClock, type SandboxContext, type TimerHandle } from './context.ts'
import { registerControls } from './controls.ts'
import { createFaults, type Faults } from './faults/faults.ts'
import { installFaults } from './faults/install.ts'
import type { FaultRuleInput } from './faults/rule.ts'
import { openRepository, type Repository } from './git/repository.ts'
import { registerGitHttp } from './git-http.ts'
import { findGroup, groupsAbove } from './groups.ts'
import { registerIdTokens } from './id-tokens.ts'
import { startAutoMerge } from './merge-requests/merge.ts'
import { settleMergeRequests } from './merge-requests/settle.ts'
import { registerPages } from './pages/routes.ts'
import { repositoryDirectory } from './projects.ts'
import { REFRESH_DELAY_MS } from './pushes.ts'
import { registerApprovalRoutes } from './routes/approvals.ts'
import { registerBranchRoutes } from './routes/branches.ts'
import { registerCommitRoutes } from './routes/commits.ts'
import { registerDiffRoutes } from './routes/diffs.ts'
import { registerDiscussionRoutes } from './routes/discussions.ts'
import { registerFileRoutes } from './routes/files.ts'
import { registerGroupRoutes } from './routes/groups.ts'
import { registerInstanceRoutes } from './routes/instance.ts'
import { registerMergeRequestRoutes } from './routes/merge-requests.ts'
import { registerNoteRoutes } from './routes/notes.ts'
import { registerProjectRoutes } from './routes/projects.ts'
import { buildServer } from './server.ts'
import { Signals } from './state.ts'
import { openStore } from './store.ts'
import { startWebhooks } from './webhooks/deliver.ts'
import { registerHookRoutes } from './webhooks/routes.ts'
import { type FindWrites, recordWrites } from './writes.ts'

export interface SandboxOptions {
  readonly dataDir: string
  readonly clock?: Clock
  readonly timeScale?: number
  readonly log?: Log
}

/** A context with its end: `close` cancels what waits, waits for what runs, and writes the records. */
export interface OpenSandbox extends SandboxContext {
  /** Resolves when no background task runs; those still waiting for their time do not count. */
  idle(): Promise<void>
  close(): Promise<void>
}

interface Background {
  later: SandboxContext['later']
  idle(): Promise<void>
  stop(): Promise<void>
}

function createBackground(clock: Clock, timeScale: number, log: Log): Background {
  const waiting = new Set<TimerHandle>()
  const running = new Set<Promise<void>>()
  let stopped = false
  const idle = async () => {
    while (running.size > 0) await Promise.all(running)
  }
  return {
    later(ms, what, task) {
      if (stopped) return
      const handle = clock.setTimeout(() => {
        waiting.delete(handle)
        const run = (async () => task())()
          .catch((error) => log.error({ what, error: String(error) }, 'sandbox background task failed'))
          .finally(() => running.delete(run))
        running.add(run)
      }, ms / timeScale)
      waiting.add(handle)
    },
    idle,
    async stop() {
      stopped = true
      for (const handle of waiting) clock.clearTimeout(handle)
      waiting.clear()
      await idle()
    },
  }
}

function createExclusive(): SandboxContext['exclusive'] {
  const tails = new Map<number, Promise<unknown>>()
  return (project, run) => {
    const before = tails.get(project.id) ?? Promise.resolve()
    const mine = before.then(run, run)
    tails.set(
      project.id,
      mine.catch(() => {}),
    )
    return mine
  }
}

/** Opens the sandbox of `dataDir` without a server. */
export function createSandboxGitLab(options: SandboxOptions): OpenSandbox {
  const { clock = createRealClock(), timeScale = 1, log = silentLog } = options
  const dataDir = resolve(options.dataDir)
  const store = openStore(dataDir, log)
  const { state } = store
  const repositories = new Map<number, Repository>()
  const background = createBackground(clock, timeScale, log)
  const context: OpenSandbox = {
    dataDir,
    state,
    signals: new Signals(),
    clock,
    timeScale,
    log,
    externalUrl: 'http://127.0.0.1',
    refreshDelayMs: REFRESH_DELAY_MS,
    nextId: () => state.nextId++,
    timestamp: () => clock.now().toISOString(),
    save: store.save,
    flush: store.flush,
    git(project) {
      const repository = repositories.get(project.id) ?? openRepository(repositoryDirectory(dataDir, project))
      repositories.set(project.id, repository)
      return repository
    },
    exclusive: createExclusive(),
    later: background.later,
    idle: background.idle,
    findProject(idOrPath) {
      const text = String(idOrPath)
      const id = /^\d+$/.test(text) ? Number(text) : null
      const path = text.toLowerCase()
      const fits = (project: (typeof state.projects)[number]) =>
        id === null ? project.pathWithNamespace.toLowerCase() === path : project.id === id
      return state.projects.find(fits) ?? null
    },
    findMergeRequest: (projectId, iid) =>
      state.mergeRequests.find((candidate) => candidate.projectId === projectId && candidate.iid === iid) ?? null,
    findUser: (id) => state.users.find((user) => user.id === id) ?? null,
    findUserByName: (name) => state.users.find((user) => user.username.toLowerCase() === name.toLowerCase()) ?? null,
    userOf(token) {
      const sha256 = hashToken(token)
      const record = state.tokens.find((candidate) => candidate.sha256 === sha256)
      return record ? context.findUser(record.userId) : null
    },
    findMovedProject(path) {
      const former = path.toLowerCase()
      return state.projects.findLast((project) => project.formerPaths?.includes(former)) ?? null
    },
    findGroup: (idOrPath) => findGroup(state, idOrPath),
    accessLevel(project, user) {
      if (user.admin) return OWNER
      const groups = groupsAbove(state, project.pathWithNamespace)
      return Math.max(project.members[user.id] ?? 0, ...groups.map((group) => group.members[user.id] ?? 0))
    },
    async close() {
      await background.stop()
      for (const repository of repositories.values()) await repository.objects.close()
      await store.flush()
    },
  }
  context.signals.setMaxListeners(0)
  return context
}

export interface ServerOptions extends SandboxOptions {
  readonly host?: string
  /** 0 (the default): any free port. */
  readonly port?: number
  /** What goes wrong from the start. */
  readonly faults?: readonly FaultRuleInput[]
}

export interface RunningSandbox {
  readonly url: string
  readonly context: OpenSandbox
  /** What goes wrong with requests. */
  readonly faults: Faults
  /** What was really changed since the start. */
  readonly writes: FindWrites
  close(): Promise<void>
}

/** Starts the whole sandbox; resolves once it listens. Rejects when the port is taken. */
export async function startSandboxGitLab(options: ServerOptions): Promise<RunningSandbox> {
  const faults = createFaults(options.faults)
  const context = createSandboxGitLab(options)
  const writes = recordWrites(context)
  const app = buildServer(context.log)
  const api = [
    registerInstanceRoutes,
    registerGroupRoutes,
    registerProjectRoutes,
    registerBranchRoutes,
    registerCommitRoutes,
    registerFileRoutes,
    registerMergeRequestRoutes,
    registerApprovalRoutes,
    registerDiffRoutes,
    registerNoteRoutes,
    registerDiscussionRoutes,
    registerCiRoutes,
    registerStatusRoutes,
    registerHookRoutes,
    registerPages,
    registerGitHttp,
  ]
  // What was answered is kept: an answer to a write goes out after the records are on disk.
  app.addHook('onSend', async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') await context.flush()
  })
  installFaults(app, context, faults)
  for (const register of api) await register(app, context)
  registerControls(app, context, { faults, writes })
  registerIdTokens(app, context)
  const { host = '127.0.0.1', port = 0 } = options
  try {
    await app.listen({ host, port })
  } catch (error) {
    await app.close()
    await context.close()
    throw error
  }
  const address = app.server.address() as AddressInfo
  context.externalUrl = `http://${host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host}:${address.port}`
  const parts = [startCi(context), startWebhooks(context)]
  startAutoMerge(context)
  settleMergeRequests(context)
  return {
    url: context.externalUrl,
    context,
    faults,
    writes,
    async close() {
      await app.close()
      for (const part of parts) await part.stop()
      await context.close()
    },
  }
}
