/**
 * GET /healthz and /readyz, for whoever runs the process. Healthy means that it answers; ready means that everything it
 * needs answers too. Anybody may ask, so the answers name what is down and no address.
 */
import { z } from 'zod'
import { messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { type Api, answer } from './route.ts'

export interface HealthDependencies {
  /** By dependency: `ok`, or one short sentence about what is wrong that everybody may read. */
  readonly ready: () => Promise<Readonly<Record<string, 'ok' | string>>>
  readonly version: string
  readonly log: Log
}

const READY_TIMEOUT_MS = 5_000

const readiness = z.object({
  status: z.enum(['ready', 'not_ready']),
  dependencies: z.record(z.string(), z.string()).describe('`ok`, or what is wrong with it.'),
})

export function registerHealth(app: Api, { ready, version, log }: HealthDependencies): void {
  app.route({
    method: 'GET',
    url: '/healthz',
    schema: {
      operationId: 'health',
      tags: ['operation'],
      summary: 'Is the process alive?',
      security: [],
      response: { 200: answer(z.object({ status: z.literal('ok'), version: z.string() }), 'It is.') },
    },
    handler: async () => ({ status: 'ok' as const, version }),
  })
  app.route({
    method: 'GET',
    url: '/readyz',
    schema: {
      operationId: 'readiness',
      tags: ['operation'],
      summary: 'Can it do its work?',
      security: [],
      response: {
        200: answer(readiness, 'Everything it needs answers.'),
        503: answer(readiness, 'Something it needs does not answer.'),
      },
    },
    async handler(_request, reply) {
      const dependencies = await withTimeout(ready()).catch((error: unknown) => {
        log.error({ error: messageOf(error) }, 'the readiness check failed')
        return { service: 'the readiness check failed; see the log' }
      })
      const isReady = Object.values(dependencies).every((state) => state === 'ok')
      reply.code(isReady ? 200 : 503)
      return { status: isReady ? ('ready' as const) : ('not_ready' as const), dependencies: { ...dependencies } }
    },
  })
}

async function withTimeout<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${READY_TIMEOUT_MS} ms`)), READY_TIMEOUT_MS)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}
