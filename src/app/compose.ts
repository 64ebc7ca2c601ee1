/**
 * The one place that knows everyone: it puts the rooms together with ordinary functions, starts them in the order in which
 * they depend on each other, and stops them in the order of decision 0036: no new requests, no new events, then no new work,
 * then the database.
 */
import manifest from '../../package.json' with { type: 'json' }
import { createMeServer } from '../api/me-server.ts'
import { createApi } from '../api/server.ts'
import type { AuditEntry } from '../audit/entry.ts'
import { createLogAudit } from '../audit/log-sink.ts'
import { createAuthenticator } from '../auth/authenticator.ts'
import { type Database, pingDatabase } from '../db/database.ts'
import type { SqsConnection, SqsConsumer, SqsConsumerDependencies } from '../events/sqs-consumer.ts'
import { gitlabToken } from '../gitlab/config.ts'
import { createGitLab } from '../gitlab/create-gitlab.ts'
import { createItemTypes } from '../item-types/index.ts'
import { createEventCounts } from '../lib/event-counts.ts'
import type { Log } from '../lib/log.ts'
import { createQueue } from '../queue/create-queue.ts'
import type { AnyItemType } from '../queue/item-type.ts'
import type { Config } from './config.ts'
import { listenFailure } from './listen-failure.ts'
import { createMetrics } from './metrics.ts'
import { openProgramDatabase } from './open-database.ts'

export interface Service {
  /** Where the API listens. */
  readonly url: string
  readonly databaseDescription: string
  /** Safe to call more than once. */
  stop(): Promise<void>
}

export interface ServiceOptions {
  readonly log: Log
  /** Hears every audit entry after the log has. */
  readonly onAudit?: (entry: AuditEntry) => void
  /** How to reach a queue of events that runs here; otherwise the environment says it. */
  readonly sqs?: { readonly connection: SqsConnection }
}

/** @throws WorkQueueError with a sentence for people when a part cannot start; what had started is stopped again. */
export async function startService(config: Config, { log, onAudit, sqs }: ServiceOptions): Promise<Service> {
  const database = await openProgramDatabase(config.database, log)
  const { db } = database
  const audit = createLogAudit(log, onAudit)
  const itemTypes = selectItemTypes(config, db, log)
  const authenticator = createAuthenticator(config.auth, { log })
  const counts = createEventCounts()
  const queue = createQueue({
    ...{ db, itemTypes, audit, log, config: config.queue, random: Math.random, counts },
    listenUrl: database.wakeUrl,
  })
  const consumer = await createConsumer(config, { queue: queue.work, counts, log, ...sqs })
  const metrics = createMetrics({
    ...{ counts, log },
    queueStatus: () => queue.admin.status([...itemTypes.keys()]),
    sqsStatus: () => consumer?.status() ?? null,
  })
  const api = await createApi({
    queue: queue.work,
    admin: queue.admin,
    pauses: queue.pauses,
    authenticator,
    audit,
    log,
    webhook: config.webhook ?? null,
    counts,
    ready: () => checkDatabase(db),
    version: manifest.version,
    rateLimits: config.server.rate_limits,
    trustedProxies: config.server.trusted_proxies,
    metrics: config.server.metrics ? metrics : null,
  })
  const me = config.auth.me === undefined ? null : createMeServer({ authenticator, audit, log })
  const { url, meUrl } = await listenAll(config, api, me).catch(async (error: unknown) => {
    await database.close()
    throw error
  })
  let stopping: Promise<void> | null = null
  const stop = async () => {
    log.info({}, 'stopping: no new requests and events, then running actions finish, then the database')
    await Promise.all([api.close(), me?.close()])
    await consumer?.stop()
    authenticator.stop()
    await queue.stop()
    await database.close()
    log.info({}, 'stopped')
  }
  authenticator.start()
  await queue.start().catch(async (error: unknown) => {
    await stop()
    throw error
  })
  consumer?.start()
  const facts = { url, ...(meUrl === null ? {} : { me_url: meUrl }), database: database.description }
  log.info({ ...facts, handled_types: [...itemTypes.keys()] }, 'the service is up')
  return {
    url,
    databaseDescription: database.description,
    stop() {
      stopping ??= stop()
      return stopping
    },
  }
}

async function listenAll(config: Config, api: Api, me: ReturnType<typeof createMeServer> | null) {
  const url = await listen(api, config.server, 'the service')
  if (me === null || config.auth.me === undefined) return { url, meUrl: null }
  const meUrl = await listen(me, config.auth.me, 'the login bridge').catch(async (error: unknown) => {
    await api.close()
    throw error
  })
  return { url, meUrl }
}

/** The AWS SDK takes as much memory as half of the rest: who reads no queue of events does without. */
async function createConsumer(
  { events }: Config,
  dependencies: Omit<SqsConsumerDependencies, 'config'>,
): Promise<SqsConsumer | null> {
  if (events === undefined) return null
  const { createSqsConsumer } = await import('../events/sqs-consumer.ts')
  return createSqsConsumer({ ...dependencies, config: events })
}

function selectItemTypes(config: Config, db: Database, log: Log): ReadonlyMap<string, AnyItemType> {
  if (config.gitlab === undefined || config.mr === undefined) return new Map()
  const gitlab = createGitLab({
    url: config.gitlab.url,
    token: gitlabToken(config.gitlab),
    timeoutMs: config.gitlab.timeout,
    breaker: config.gitlab.breaker,
    log,
  })
  const types: readonly AnyItemType[] = createItemTypes({ db, gitlab, mr: config.mr })
  return new Map(types.filter((type) => isHandled(config, type.name)).map((type) => [type.name, type]))
}

function isHandled(config: Config, name: string): boolean {
  return config.handled_types.some((handled) => handled === name)
}

async function checkDatabase(db: Database): Promise<Record<string, string>> {
  try {
    await pingDatabase(db)
    return { database: 'ok' }
  } catch {
    // Everybody may read this: no address, no message of the driver.
    return { database: 'it does not answer' }
  }
}

type Api = Awaited<ReturnType<typeof createApi>>

interface Listener {
  listen(address: { readonly host: string; readonly port: number }): Promise<string>
  close(): Promise<unknown>
}

async function listen(
  server: Listener,
  { host, port }: { readonly host: string; readonly port: number },
  who: string,
): Promise<string> {
  try {
    return await server.listen({ host, port })
  } catch (error) {
    await server.close()
    throw listenFailure(error, host, port, who)
  }
}
