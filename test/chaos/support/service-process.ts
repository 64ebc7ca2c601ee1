/**
 * The real service as a process of its own, through `wq serve`. Each one that is started has a user of its own in GitLab and
 * a name of its own in PostgreSQL, so that it can be told afterwards who wrote what, and who held which lease then.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { stringify } from 'yaml'
import { z } from 'zod'
import type { EventStream } from '../../../sandbox/events/event-stream.ts'
import { createUser } from '../../../sandbox/gitlab/users.ts'
import type { ConfigInput } from '../../../src/app/config.ts'
import { newToken } from '../../../src/auth/token.ts'
import { type Client, createClient } from '../../../src/client/client.ts'
import type { FlowGitLab } from '../../support/flow-gitlab.ts'

export interface ServiceProcess {
  /** Its user in GitLab and its application name in PostgreSQL. */
  readonly name: string
  readonly url: string
  readonly client: Client
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  isAlive(): boolean
  /** SIGTERM or SIGKILL; resolves with the exit code, null after a kill. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

export interface ServiceFleet {
  start(): Promise<ServiceProcess>
}

export interface FleetOptions {
  readonly directory: string
  /** Of its processes, each with a number; `service` as long as nothing is said. */
  readonly name?: string
  readonly databaseUrl: string
  readonly side: FlowGitLab
  readonly queue: ConfigInput['queue']
  /** How many changes there will be: the more, the less often each is looked at, or looking would be all that is done. */
  readonly changes: number
  /** Where they take events from; otherwise from webhooks only. */
  readonly events?: EventStream
}

export const WEBHOOK_SECRET = 'a-secret-of-the-chaos-run'
const START_TIMEOUT_MS = 30_000
const EXIT_TIMEOUT_MS = 60_000
const MAINTAINER = 40

export function createServiceFleet(options: FleetOptions): ServiceFleet {
  const { directory, name: prefix = 'service', databaseUrl, side, queue, changes, events } = options
  const { gitlab, project } = side
  const { token, sha256 } = newToken()
  let started = 0

  async function writeConfig(name: string): Promise<string> {
    const gitlabToken = `glpat-${name}`
    const user = createUser(gitlab.context, { username: name, bot: true, token: gitlabToken })
    project.members[user.id] = MAINTAINER
    const url = new URL(databaseUrl)
    url.searchParams.set('application_name', name)
    const config: ConfigInput = {
      handled_types: ['mr'],
      database: { url: url.href },
      server: { port: 0, rate_limits: { per_caller: null } },
      log_level: 'info',
      auth: { rules: [{ name: 'chaos', token_sha256: sha256, permissions: ['read', 'submit'] }] },
      webhook: { secret: WEBHOOK_SECRET },
      ...(events === undefined ? {} : { events: { queue_url: events.queueUrl, visibility_timeout: '5s' } }),
      gitlab: { url: gitlab.url, token: gitlabToken, timeout: '30s', breaker: { open_for: '1s', max_open_for: '2s' } },
      mr: {
        projects: [{ path: project.pathWithNamespace }],
        pipeline_poll: `${Math.ceil(changes / 20)}s`,
        reconcile_interval: `${5 + Math.ceil(changes / 10)}s`,
      },
      queue,
    }
    const file = join(directory, `${name}.yaml`)
    await writeFile(file, stringify(config), { mode: 0o600 })
    return file
  }

  return {
    async start() {
      started += 1
      const name = `${prefix}-${started}`
      const child = spawn(process.execPath, ['src/cli/main.ts', 'serve', '--config', await writeConfig(name)], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { PATH: process.env['PATH'] ?? '', ...environmentOf(events) },
      })
      const isAlive = () => child.exitCode === null && child.signalCode === null
      const exit = once(child, 'exit')
      const endWithUs = () => void child.kill('SIGKILL')
      process.once('exit', endWithUs)
      child.once('exit', () => process.off('exit', endWithUs))
      const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
        if (isAlive()) child.kill(signal)
        const gone = await Promise.race([exit, delay(EXIT_TIMEOUT_MS, null, { ref: false })])
        if (gone === null) child.kill('SIGKILL')
        await exit
        return child.exitCode
      }
      try {
        const url = await readUrl(child.stdout, exit)
        return {
          name,
          url,
          client: createClient({ url, token }),
          isAlive,
          end,
          signal: (signal) => void child.kill(signal),
        }
      } catch (error) {
        await end('SIGKILL')
        throw error
      }
    },
  }
}

/** As the AWS SDK reads it. */
function environmentOf(events: EventStream | undefined): Readonly<Record<string, string>> {
  if (events === undefined) return {}
  const { region, credentials } = events.connection
  return {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  }
}

const lineSchema = z.object({ url: z.string().optional() })

/** Where the service says in its log that it listens. The log is read to its end: a full pipe would hold the service up. */
async function readUrl(log: NodeJS.ReadableStream, exit: Promise<unknown>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let last = 'nothing'
  createInterface(log).on('line', (line) => {
    last = line
    const { url } = lineSchema.parse(JSON.parse(line))
    if (url !== undefined) resolve(url)
  })
  const ended = exit.then(() => 'it ended')
  const failed = Promise.race([ended, delay(START_TIMEOUT_MS, 'it is slow', { ref: false })]).then((why) => {
    throw new Error(`the service did not say where it listens: ${why}; its last word was ${last}`)
  })
  return Promise.race([promise, failed])
}
