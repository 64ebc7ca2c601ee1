/**
 * Where the command line finds the service: what was said on the command line, then the environment, then what local mode
 * wrote. An address and a token belong together: the token of local mode is sent to the address it was made for and to
 * no other.
 */
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { z } from 'zod'
import { type Client, createClient } from '../client/client.ts'
import { messageOf, WorkQueueError } from '../lib/errors.ts'

export interface ConnectionOptions {
  readonly url?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly json?: boolean
}

/** The second of each is what a job of GitLab CI has: a variable of its group, and the ID token that GitLab signs for it. */
const ADDRESSES = ['WQ_URL', 'WORKQUEUE_URL']
const TOKENS = ['WQ_TOKEN', 'WORKQUEUE_ID_TOKEN']

/** Adds the options that every command over the service takes. */
export function withConnection(command: Command): Command {
  return command
    .option('--url <url>', 'address of the service (default: $WQ_URL, $WORKQUEUE_URL, or the service of local mode)')
    .option(
      '--token <token>',
      'your token (default: $WQ_TOKEN, $WORKQUEUE_ID_TOKEN); others here can see it, so prefer a file',
    )
    .option('--token-file <file>', 'read your token from a file')
    .option('--json', 'print JSON, for programs')
}

/** @throws WorkQueueError `no_service`, `token_unreadable`, `bad_service_url`. */
export async function connect(options: ConnectionOptions, env: NodeJS.ProcessEnv = process.env): Promise<Client> {
  const url = options.url ?? firstOf(env, ADDRESSES)
  const token = options.token ?? (await tokenFrom(options.tokenFile)) ?? firstOf(env, TOKENS)
  if (url !== undefined && token !== undefined) return createClient({ url, token })
  const local = await findLocalService()
  if (url === undefined) {
    if (local !== null) return createClient({ url: local.url, token: token ?? local.token })
    throw new WorkQueueError(
      'no_service',
      'No address of a service: give --url or set WQ_URL, or start one here with "npm start".',
    )
  }
  if (local !== null && sameAddress(local.url, url)) return createClient(local)
  throw new WorkQueueError('no_service', `No token for ${url}: give --token-file or set WQ_TOKEN.`)
}

const localSchema = z.object({ url: z.string(), token: z.string() })

/** What local mode wrote, in this directory or in the repository that this program belongs to. */
async function findLocalService(): Promise<{ readonly url: string; readonly token: string } | null> {
  for (const directory of [process.cwd(), resolve(import.meta.dirname, '../..')]) {
    try {
      const file = await readFile(join(directory, '.workqueue', 'local.json'), 'utf8')
      return localSchema.parse(JSON.parse(file))
    } catch {
      // Not there, or left half-written by a crash: the next place may have one, and without any the error says what to do.
    }
  }
  return null
}

async function tokenFrom(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new WorkQueueError('token_unreadable', `The token file ${path} cannot be read: ${messageOf(error)}.`)
  })
  const token = text.trim()
  if (token !== '' && !/\s/.test(token)) return token
  throw new WorkQueueError('token_unreadable', `The token file ${path} must hold one token and nothing else.`)
}

function sameAddress(left: string, right: string): boolean {
  return URL.canParse(right) && new URL(left).origin === new URL(right).origin
}

function firstOf(env: NodeJS.ProcessEnv, names: readonly string[]): string | undefined {
  return names.map((name) => env[name]).find(Boolean)
}
