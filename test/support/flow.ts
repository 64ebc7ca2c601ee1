/**
 * The whole product for one test: the sandbox GitLab, a database, the service over its real API, and a webhook between
 * them. The service runs in this process or, where a test wants to kill it, in one of its own.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { stringify } from 'yaml'
import { z } from 'zod'
import { startService } from '../../src/app/compose.ts'
import { type ConfigInput, parseConfig } from '../../src/app/config.ts'
import { newToken } from '../../src/auth/token.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { silentLog } from '../../src/lib/log.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { BOT_TOKEN, createFlowGitLab, type FlowGitLab, type FlowGitLabOptions } from './flow-gitlab.ts'
import { createRecordedAudit, type RecordedAudit } from './recorded-audit.ts'

const WEBHOOK_SECRET = 'a-secret-of-the-flow-tests'
const START_TIMEOUT_MS = 20_000

export interface FlowOptions extends FlowGitLabOptions {
  /** false: GitLab's events do not reach the service. */
  readonly webhook?: boolean
}

export interface Flow extends FlowGitLab {
  readonly database: TestDatabase
  /** Starts the service in this process. */
  start(overrides?: Partial<ConfigInput>): Promise<RunningService>
  /** Starts the service as a process of its own, which a test may kill. */
  spawn(overrides?: Partial<ConfigInput>): Promise<SpawnedService>
  /** Stops everything that was started and removes what it left. */
  stop(): Promise<void>
}

export interface RunningService {
  readonly url: string
  readonly client: Client
  readonly audit: RecordedAudit
  stop(): Promise<void>
}

export interface SpawnedService {
  readonly client: Client
  /** What its log says of the audit. */
  readonly audit: RecordedAudit
  readonly process: ChildProcess
}

export async function createFlow({ webhook = true, ...options }: FlowOptions = {}): Promise<Flow> {
  const directory = await mkdtemp(join(tmpdir(), 'workqueue-flow-'))
  const database = await createTestDatabase()
  const side = await createFlowGitLab(directory, options)
  const { gitlab, project } = side
  const { token, sha256 } = newToken()
  const stops: (() => Promise<void>)[] = []

  function configInput(overrides: Partial<ConfigInput>): ConfigInput {
    return {
      handled_types: ['mr'],
      database: { url: database.url },
      server: { port: 0 },
      auth: { rules: [{ name: 'flow', token_sha256: sha256, permissions: ['read', 'submit', 'retry', 'cancel'] }] },
      webhook: { secret: WEBHOOK_SECRET },
      gitlab: { url: gitlab.url, token: BOT_TOKEN },
      mr: {
        projects: [{ path: project.pathWithNamespace, binary_files: [{ format: 'any', paths: ['img/**'] }] }],
        pipeline_poll: '1s',
      },
      queue: { sweep_interval: '500ms' },
      ...overrides,
    }
  }

  function connect(url: string): void {
    const kinds = ['mergeRequestsEvents', 'pipelineEvents', 'jobEvents', 'noteEvents', 'pushEvents'] as const
    const all = Object.fromEntries(kinds.map((kind) => [kind, true])) as Record<(typeof kinds)[number], true>
    project.hooks = webhook ? [{ id: 1, url: `${url}/api/v1/webhooks/gitlab`, token: WEBHOOK_SECRET, ...all }] : []
  }

  return {
    ...side,
    database,
    async start(overrides = {}) {
      const audit = createRecordedAudit()
      const config = parseConfig(configInput(overrides), {}, 'the test')
      const service = await startService(config, { log: silentLog, onAudit: audit.record })
      connect(service.url)
      stops.push(service.stop)
      return { url: service.url, client: createClient({ url: service.url, token }), audit, stop: service.stop }
    },
    async spawn(overrides = {}) {
      const file = join(directory, 'config.yaml')
      await writeFile(file, stringify(configInput(overrides)), { mode: 0o600 })
      const child = spawnService(file)
      stops.push(() => kill(child))
      const audit = createRecordedAudit()
      const url = await followLog(child, audit)
      connect(url)
      return { client: createClient({ url, token }), audit, process: child }
    },
    async stop() {
      for (const stop of stops.reverse()) await stop()
      await gitlab.close()
      await database.drop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

function spawnService(configFile: string): ChildProcess {
  return spawn(process.execPath, ['src/cli/main.ts', 'serve', '--config', configFile], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] ?? '' },
  })
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** Reads the log: hears the audit in it, and answers where the service says that it listens. */
async function followLog(child: ChildProcess, audit: RecordedAudit): Promise<string> {
  if (child.stdout === null) throw new Error('the service was started without a pipe')
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const timer = setTimeout(() => reject(new Error('the service did not say where it listens')), START_TIMEOUT_MS)
  child.once('exit', (code) => reject(new Error(`the service ended with code ${code} before it listened`)))
  createInterface(child.stdout).on('line', (text) => {
    const line = logLineSchema.parse(JSON.parse(text))
    if (line.audit !== undefined) audit.record(line.audit)
    if (line.url !== undefined) resolve(line.url)
  })
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}

const logLineSchema = z.object({
  url: z.string().optional(),
  audit: z.looseObject({ event_type: z.string() }).optional(),
})
