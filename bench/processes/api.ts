/** The service's REST API in a process of its own: real routes, real tokens, audit and log as in production. */
import { z } from 'zod'
import { createApi } from '../../src/api/server.ts'
import { createAuthenticator } from '../../src/auth/authenticator.ts'
import { authConfigSchema } from '../../src/auth/config.ts'
import { newToken } from '../../src/auth/token.ts'
import { createEventCounts } from '../../src/lib/event-counts.ts'
import { serveParent } from '../support/process.ts'
import { openQueue } from '../support/product.ts'

const optionsSchema = z.object({
  url: z.string(),
  /** Does the process also work on what it accepts? */
  works: z.boolean(),
})

await serveParent(optionsSchema, async ({ url, works }) => {
  const { token, sha256 } = newToken()
  const rule = { name: 'bench', token_sha256: sha256, permissions: ['read', 'submit'] }
  const { queue, admin, pauses, audit, log, start, stop } = openQueue(url)
  const api = await createApi({
    queue,
    admin,
    pauses,
    authenticator: createAuthenticator(authConfigSchema.parse({ rules: [rule] })),
    audit,
    log,
    webhook: null,
    counts: createEventCounts(),
    ready: async () => ({ database: 'ok' }),
    version: '0.0.0-bench',
    metrics: null,
  })
  const address = await api.listen({ host: '127.0.0.1', port: 0 })
  if (works) await start()
  return {
    target: async () => ({ url: `${address}/api/v1/work-items`, token }),
    async stop() {
      await api.close()
      await stop()
    },
  }
})
