/**
 * The configuration of the whole program: the slices that the rooms export, read once from one YAML file and a few
 * environment variables, checked, frozen and handed out. Nothing else reads the environment. A bad file stops the start and
 * names every key that is wrong, what was found and what was expected (decisions 0020 and 0025).
 */
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { authConfigSchema } from '../auth/config.ts'
import { eventsConfigSchema, webhookConfigSchema } from '../events/config.ts'
import { gitlabConfigSchema, gitlabToken } from '../gitlab/config.ts'
import { mrConfigSchema } from '../item-types/mr/config.ts'
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import type { Finding } from '../lib/finding.ts'
import { readShape } from '../lib/read-shape.ts'
import { queueConfigSchema } from '../queue/config.ts'

const postgresUrl = (key: string) =>
  z.string().regex(/^postgres(ql)?:\/\//, `${key} must start with postgres:// or postgresql://`)

const databaseSchema = z.strictObject({
  /** Any PostgreSQL 15 or newer. Without it (and without DATABASE_URL) the embedded PostgreSQL is used. */
  url: postgresUrl('database.url').optional(),
  /** Where to LISTEN, when that is not url: the server itself, where url leads to a pooler in transaction mode. */
  listen_url: postgresUrl('database.listen_url').optional(),
  /** Whether other processes' wake-ups are listened for; without it the sweep alone finds their work. */
  wake_channel: z.boolean().default(true),
  max_connections: z.int().min(2).max(500).default(20),
  /** Where the embedded PostgreSQL keeps its data. */
  data_dir: z.string().min(1).default('.workqueue/postgres'),
})

const serverSchema = z.strictObject({
  host: z.string().min(1).default('127.0.0.1'),
  /** 0 = any free port. */
  port: z.int().min(0).max(65_535).default(8080),
  /** Proxies in front of the service: only their word for where a request comes from is taken. */
  trusted_proxies: z
    .array(z.string().refine(isNetwork, 'expected an address or a network, such as 10.0.0.0/8'))
    .default([]),
  /** A minute, counted in each process; null = no limit. */
  rate_limits: z
    .strictObject({
      /** Requests of one caller. */
      per_caller: z.int().min(1).max(1_000_000).nullable().default(1_200),
      /** Refused tokens from one address; then none of its tokens is looked at. */
      refused_per_address: z.int().min(1).max(1_000_000).nullable().default(1_000),
    })
    .prefault({}),
  /** Whether GET /metrics exists; whoever can connect may read it. */
  metrics: z.boolean().default(true),
})

function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

const configSchema = z
  .strictObject({
    /** Which item types this process serves; none = it works on nothing (decision 0025). */
    handled_types: z.array(z.enum(['mr'])).default([]),
    database: databaseSchema.prefault({}),
    server: serverSchema.prefault({}),
    log_level: z.enum(LOG_LEVELS).default('info'),
    auth: authConfigSchema,
    webhook: webhookConfigSchema.optional(),
    /** Without it no queue of events is read. */
    events: eventsConfigSchema.optional(),
    queue: queueConfigSchema.prefault({}),
    gitlab: gitlabConfigSchema.optional(),
    mr: mrConfigSchema.optional(),
  })
  .superRefine((config, context) => {
    if (!config.handled_types.includes('mr')) return
    for (const key of ['gitlab', 'mr'] as const) {
      if (config[key] !== undefined) continue
      context.addIssue({ code: 'custom', path: [key], message: `"${key}" is required when handled_types has mr.` })
    }
  })

export type Config = z.output<typeof configSchema>
export type ConfigInput = z.input<typeof configSchema>

class ConfigInvalid extends WorkQueueError {
  readonly findings: readonly Finding[]
  constructor(source: string, findings: readonly Finding[]) {
    super('config_invalid', `${source} has ${findings.length === 1 ? 'a fault' : `${findings.length} faults`}.`)
    this.findings = findings
  }
}

/** Environment variables and the key each of them sets; they win over the file. */
const ENVIRONMENT = {
  DATABASE_URL: ['database', 'url'],
  WORKQUEUE_SERVICE_GITLAB_TOKEN: ['gitlab', 'token'],
  WORKQUEUE_SERVICE_WEBHOOK_SECRET: ['webhook', 'secret'],
  WORKQUEUE_SERVICE_EVENTS_QUEUE_URL: ['events', 'queue_url'],
  WORKQUEUE_SERVICE_LOG_LEVEL: ['log_level'],
} as const satisfies Record<string, readonly string[]>

/** @throws ConfigInvalid with every fault; WorkQueueError `config_unreadable`. */
export async function loadConfig(path: string, env: NodeJS.ProcessEnv): Promise<Config> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new WorkQueueError('config_unreadable', `The configuration file ${path} cannot be read: ${messageOf(error)}.`)
  })
  const document = parseDocument(text, { prettyErrors: true, uniqueKeys: true })
  const [fault] = document.errors
  if (fault !== undefined) {
    throw new ConfigInvalid(path, [{ code: 'invalid_yaml', path: '', message: `It is not YAML: ${fault.message}` }])
  }
  return parseConfig(document.toJS({ maxAliasCount: 100 }), env, path)
}

/** Reads the files that the configuration names, as the service will. @throws WorkQueueError `gitlab_token_unreadable`. */
export async function checkFiles({ gitlab }: Config): Promise<void> {
  if (gitlab !== undefined) await gitlabToken(gitlab)()
}

/** @throws ConfigInvalid. `source` names the input in the error. */
export function parseConfig(input: unknown, env: NodeJS.ProcessEnv, source: string): Config {
  const reading = readShape(configSchema, withEnvironment(input ?? {}, env), 'the configuration')
  if (!reading.ok) throw new ConfigInvalid(source, reading.findings)
  return deepFreeze(reading.value)
}

function withEnvironment(input: unknown, env: NodeJS.ProcessEnv): unknown {
  if (!isRecord(input)) return input
  const merged = structuredClone(input)
  for (const [name, path] of Object.entries(ENVIRONMENT)) {
    const value = env[name]
    if (value !== undefined && value !== '') setAt(merged, path, value)
  }
  return merged
}

function setAt(target: Record<string, unknown>, path: readonly string[], value: string): void {
  const [key, ...rest] = path
  if (key === undefined) return
  if (rest.length === 0) {
    target[key] = value
    return
  }
  const existing = target[key]
  const inner = isRecord(existing) ? existing : {}
  target[key] = inner
  setAt(inner, rest, value)
}

const MASK = '***'

/** The settled configuration as people may see it: secrets masked. */
export function maskConfig(config: Config): unknown {
  const { database, gitlab, webhook } = config
  return {
    ...config,
    database: {
      ...database,
      ...(database.url === undefined ? {} : { url: maskUrl(database.url) }),
      ...(database.listen_url === undefined ? {} : { listen_url: maskUrl(database.listen_url) }),
    },
    ...(webhook === undefined ? {} : { webhook: { ...webhook, secret: MASK } }),
    ...(gitlab?.token === undefined ? {} : { gitlab: { ...gitlab, token: MASK } }),
  }
}

/** `postgres://user:***@host/db`; also for messages about a database that does not answer. */
export function maskUrl(text: string): string {
  if (!URL.canParse(text)) return MASK
  const url = new URL(text)
  if (url.password !== '') url.password = MASK
  for (const key of [...url.searchParams.keys()]) if (/pass/i.test(key)) url.searchParams.set(key, MASK)
  return url.href
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) deepFreeze(inner)
  }
  return value
}
