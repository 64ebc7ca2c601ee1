/**
 * Local mode: the whole product on one machine with nothing configured. Real PostgreSQL (embedded), a real GitLab API over
 * real git repositories (the sandbox), the service between them with a fresh token, and a webhook from the one to the
 * other. Everything binds to loopback, and everything is found again at the next start.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import type { AuditEntry } from '../audit/entry.ts'
import { PERMISSIONS } from '../auth/identity.ts'
import { newToken } from '../auth/token.ts'
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import { type Service, startService } from './compose.ts'
import { type ConfigInput, parseConfig } from './config.ts'
import { createLog } from './log.ts'
import { startSandbox } from './sandbox.ts'

export interface LocalModeOptions {
  readonly dataDir: string
  /** Fails when this port is in use; without it a usual port is taken, or any free one. */
  readonly port?: number
  readonly gitlabPort?: number
  readonly onAudit?: (entry: AuditEntry) => void
}

export interface LocalMode {
  readonly url: string
  readonly gitlabUrl: string
  /** A caller's token for this run; gone at the next start. */
  readonly token: string
  readonly project: string
  /** For git, with a token of the sandbox's administrator in it. */
  readonly cloneUrl: string
  readonly dataDir: string
  readonly logFile: string
  readonly databaseDescription: string
  stop(): Promise<void>
}

const HOST = '127.0.0.1'
const USUAL_PORT = 8087
const USUAL_GITLAB_PORT = 8088
const HOOK_TIMEOUT_MS = 10_000

/** @throws WorkQueueError with a sentence for people. */
export async function startLocalMode(options: LocalModeOptions): Promise<LocalMode> {
  const dataDir = resolve(options.dataDir)
  await mkdir(dataDir, { recursive: true })
  const logFile = join(dataDir, 'service.log')
  const log = createLog('info', logFile)
  const gitlabPort = await choosePort(options.gitlabPort, USUAL_GITLAB_PORT)
  const gitlab = await startSandbox({ dataDir: join(dataDir, 'gitlab'), port: gitlabPort, log })
  const { token, sha256 } = newToken()
  const secret = randomBytes(32).toString('hex')
  let service: Service | null = null
  const stop = async () => {
    await rm(join(dataDir, 'local.json'), { force: true })
    await service?.stop()
    await gitlab.close()
  }
  try {
    const input: ConfigInput = {
      handled_types: ['mr'],
      database: { data_dir: join(dataDir, 'postgres') },
      server: { host: HOST, port: await choosePort(options.port, USUAL_PORT) },
      auth: {
        rules: [{ name: 'local', token_sha256: sha256, permissions: [...PERMISSIONS] }],
      },
      webhook: { secret },
      gitlab: { url: gitlab.url, token: gitlab.tokens.bot },
      mr: { projects: [{ path: gitlab.project, binary_files: [{ format: 'any', paths: ['**/*.bin', '**/*.png'] }] }] },
    }
    // An empty environment: local mode never touches a database or a GitLab that somebody configured for real.
    const config = parseConfig(input, {}, 'local mode')
    service = await startService(config, { log, ...(options.onAudit ? { onAudit: options.onAudit } : {}) })
    await connectWebhook(gitlab.url, gitlab.tokens.root, gitlab.project, service.url, secret)
    await writeFile(join(dataDir, 'local.json'), `${JSON.stringify({ url: service.url, token }, null, 2)}\n`, {
      mode: 0o600,
    })
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url: service.url,
    gitlabUrl: gitlab.url,
    token,
    project: gitlab.project,
    cloneUrl: `http://root:${gitlab.tokens.root}@${new URL(gitlab.url).host}/${gitlab.project}.git`,
    dataDir,
    logFile,
    databaseDescription: service.databaseDescription,
    stop,
  }
}

async function choosePort(wanted: number | undefined, usual: number): Promise<number> {
  if (wanted !== undefined) return wanted
  return (await isFree(usual)) ? usual : 0
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  try {
    probe.listen(port, HOST)
    await once(probe, 'listening')
    return true
  } catch {
    return false
  } finally {
    probe.close()
  }
}

/** The one webhook of local mode: a former start's is replaced, since its port and secret are gone. */
async function connectWebhook(
  gitlabUrl: string,
  token: string,
  project: string,
  serviceUrl: string,
  secret: string,
): Promise<void> {
  const hooks = `${gitlabUrl}/api/v4/projects/${encodeURIComponent(project)}/hooks`
  const call = async (method: string, url: string, body?: object): Promise<unknown> => {
    const response = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(HOOK_TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} hooks answered ${response.status}`)
    return response.status === 204 ? null : response.json()
  }
  try {
    const present = (await call('GET', hooks)) as readonly { readonly id: number }[]
    for (const { id } of present) await call('DELETE', `${hooks}/${id}`)
    await call('POST', hooks, {
      url: `${serviceUrl}/api/v1/webhooks/gitlab`,
      token: secret,
      merge_requests_events: true,
      pipeline_events: true,
      job_events: true,
      note_events: true,
      push_events: true,
    })
  } catch (error) {
    throw new WorkQueueError('webhook_not_connected', `The sandbox's webhook was not set up: ${messageOf(error)}.`, {
      cause: error,
    })
  }
}
