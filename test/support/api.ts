/**
 * The API over the queue in memory, with a caller for each set of rights.
 */

import { type ApiDependencies, createApi } from '../../src/api/server.ts'
import type { AuditEntry } from '../../src/audit/entry.ts'
import { createAuthenticator } from '../../src/auth/authenticator.ts'
import { authConfigSchema } from '../../src/auth/config.ts'
import { newToken } from '../../src/auth/token.ts'
import { silentLog } from '../../src/lib/log.ts'
import { FakeQueue } from './fake-queue.ts'

export const WEBHOOK_SECRET = 'a-secret-of-enough-length'

export type TestApi = Awaited<ReturnType<typeof startTestApi>>

export async function startTestApi(changes: Partial<ApiDependencies> = {}) {
  const tokens = { all: newToken(), reader: newToken(), notes: newToken(), expired: newToken() }
  const config = authConfigSchema.parse({
    rules: [
      { name: 'all', token_sha256: tokens.all.sha256, permissions: ['read', 'submit', 'retry', 'cancel'] },
      { name: 'reader', token_sha256: tokens.reader.sha256, permissions: ['read'] },
      { name: 'notes', token_sha256: tokens.notes.sha256, permissions: ['submit'], item_types: ['note'] },
      {
        name: 'expired',
        token_sha256: tokens.expired.sha256,
        permissions: ['read', 'submit'],
        expires_at: '2020-01-01T00:00:00Z',
      },
    ],
  })
  const queue = new FakeQueue()
  const entries: AuditEntry[] = []
  const app = await createApi({
    queue,
    authenticator: createAuthenticator(config),
    audit: { record: (entry) => void entries.push(entry) },
    log: silentLog,
    webhook: { secret: WEBHOOK_SECRET },
    ready: async () => ({ database: 'ok' }),
    version: '0.0.0-test',
    ...changes,
  })
  const bearer = (name: keyof typeof tokens) => ({ authorization: `Bearer ${tokens[name].token}` })
  return { app, queue, entries, tokens, bearer }
}

export const aNote = { item_type: 'note', name: 'greeting', text: 'hello' }
