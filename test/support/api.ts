/**
 * The API over the queue in memory, with a caller for each set of rights.
 */

import { connect } from 'node:net'
import { type ApiDependencies, createApi } from '../../src/api/server.ts'
import type { AuditEntry } from '../../src/audit/entry.ts'
import { createAuthenticator } from '../../src/auth/authenticator.ts'
import { authConfigSchema } from '../../src/auth/config.ts'
import { newToken } from '../../src/auth/token.ts'
import { submitAnswerSchema } from '../../src/contract/work-item.ts'
import { createEventCounts } from '../../src/lib/event-counts.ts'
import { silentLog } from '../../src/lib/log.ts'
import { FakePauseAdmin } from './fake-pause-admin.ts'
import { FakeQueue } from './fake-queue.ts'
import { FakeQueueAdmin } from './fake-queue-admin.ts'

export const WEBHOOK_SECRET = 'a-secret-of-enough-length'

export type TestApi = Awaited<ReturnType<typeof startTestApi>>

export async function startTestApi(changes: Partial<ApiDependencies> = {}) {
  const tokens = {
    all: newToken(),
    reader: newToken(),
    notes: newToken(),
    team: newToken(),
    operator: newToken(),
    noteOperator: newToken(),
    teamOperator: newToken(),
    expired: newToken(),
  }
  const config = authConfigSchema.parse({
    rules: [
      { name: 'all', token_sha256: tokens.all.sha256, permissions: ['read', 'submit', 'retry', 'cancel'] },
      { name: 'reader', token_sha256: tokens.reader.sha256, permissions: ['read'] },
      { name: 'notes', token_sha256: tokens.notes.sha256, permissions: ['submit'], item_types: ['note'] },
      {
        name: 'team',
        token_sha256: tokens.team.sha256,
        permissions: ['submit', 'cancel'],
        projects: ['team'],
        branches: ['bot-*'],
      },
      { name: 'operator', token_sha256: tokens.operator.sha256, permissions: ['admin'] },
      {
        name: 'teamOperator',
        token_sha256: tokens.teamOperator.sha256,
        permissions: ['admin'],
        projects: ['team'],
      },
      {
        name: 'noteOperator',
        token_sha256: tokens.noteOperator.sha256,
        permissions: ['admin'],
        item_types: ['note'],
      },
      {
        name: 'expired',
        token_sha256: tokens.expired.sha256,
        permissions: ['read', 'submit'],
        expires_at: '2020-01-01T00:00:00Z',
      },
    ],
  })
  const queue = new FakeQueue()
  const admin = new FakeQueueAdmin(queue)
  const pauses = new FakePauseAdmin()
  const entries: AuditEntry[] = []
  const counts = createEventCounts()
  const authenticator = createAuthenticator(config)
  const app = await createApi({
    queue,
    admin,
    pauses,
    authenticator,
    audit: { record: (entry) => void entries.push(entry) },
    log: silentLog,
    webhook: { secret: WEBHOOK_SECRET },
    counts,
    ready: async () => ({ database: 'ok' }),
    version: '0.0.0-test',
    metrics: null,
    ...changes,
  })
  const bearer = (name: keyof typeof tokens) => ({ authorization: `Bearer ${tokens[name].token}` })
  type Caller = keyof typeof tokens

  /** `path` below /api/v1. */
  function post(path: string, payload?: object | string, caller: Caller = 'all') {
    const headers = { ...bearer(caller), ...(payload === undefined ? {} : { 'content-type': 'application/json' }) }
    return app.inject({ method: 'POST', url: `/api/v1${path}`, headers, ...(payload === undefined ? {} : { payload }) })
  }
  function get(path: string, caller: Caller = 'all') {
    return app.inject({ method: 'GET', url: `/api/v1${path}`, headers: bearer(caller) })
  }
  /** The id of a new item. */
  async function submitted(note: object = aNote): Promise<string> {
    return submitAnswerSchema.parse((await post('/work-items', note)).json()).work_item.id
  }
  return { app, queue, admin, pauses, counts, authenticator, entries, tokens, bearer, post, get, submitted }
}

export type Caller = keyof TestApi['tokens']

export const aNote = { item_type: 'note', name: 'greeting', text: 'hello' }

export const UNKNOWN_ID = '01890a5d-ac96-774b-bcce-b302099a8057'

/** Sends lines as they are, and reads until the server closes. */
export async function rawRequest({ app }: TestApi, lines: readonly string[]): Promise<string> {
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port')
  return new Promise((resolve, reject) => {
    const socket = connect(address.port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('close', () => resolve(text))
    socket.on('error', (error) => (text === '' ? reject(error) : resolve(text)))
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  })
}
