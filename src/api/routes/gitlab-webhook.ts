/**
 * POST /api/v1/webhooks/gitlab: GitLab says that something happened. The sender proves itself with the webhook's secret
 * instead of a caller's token. 202 comes after the commit, so that GitLab may forget the event; what it means is found
 * out later, by whoever works on the item.
 */
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Audit } from '../../audit/entry.ts'
import { webhookAnswerSchema } from '../../contract/webhook.ts'
import { isOurs, mayBeOurs, readWebhook } from '../../events/webhook.ts'
import { WorkQueueError } from '../../lib/errors.ts'
import type { WorkQueue } from '../../queue/work-queue.ts'
import { noQuery, validatorCompilerButBody } from '../validation.ts'
import { type Api, answer, onlyProblems } from './route.ts'

/** GitLab's own limit. */
const BODY_LIMIT_BYTES = 25 * 1024 * 1024

export interface WebhookDependencies {
  readonly queue: WorkQueue
  readonly audit: Audit
  readonly webhook: { readonly secret: string } | null
  readonly now: () => Date
}

/** Register it in a scope of its own: it replaces the body parser by one that keeps the bytes, which the signature covers. */
export function registerGitLabWebhook(app: Api, { queue, audit, webhook, now }: WebhookDependencies): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: unknown, bytes: Buffer) => bytes)

  function refuse(request: FastifyRequest): WorkQueueError {
    const code = 'webhook_unauthenticated'
    audit.record({ event_type: 'auth', action: 'webhook', outcome: 'denied', error_code: code, request_id: request.id })
    return new WorkQueueError(code, 'The delivery does not prove that its sender knows the secret of this webhook.')
  }

  app.route({
    method: 'POST',
    url: '/webhooks/gitlab',
    bodyLimit: BODY_LIMIT_BYTES,
    validatorCompiler: validatorCompilerButBody,
    schema: {
      operationId: 'receiveGitLabWebhook',
      tags: ['webhooks'],
      summary: 'Receive a webhook of GitLab',
      description:
        'Takes merge request, pipeline, job, comment and push events. GitLab sends the secret in `X-Gitlab-Token`, or ' +
        'signs the delivery (`webhook-signature`) when the secret is a signing token (`whsec_…`).',
      security: [],
      querystring: noQuery,
      body: z.looseObject({ object_kind: z.string() }),
      response: {
        202: answer(webhookAnswerSchema, 'The event is stored, or concerns nobody.'),
        ...onlyProblems(
          ...(['malformed_json', 'invalid_utf8', 'webhook_not_understood', 'webhook_unauthenticated'] as const),
          ...(['webhook_not_configured', 'payload_too_large', 'unsupported_media_type'] as const),
          'database_unavailable',
        ),
      },
    },
    async onRequest(request) {
      if (webhook === null) {
        throw new WorkQueueError('webhook_not_configured', 'This service takes no webhooks: it has no webhook secret.')
      }
      if (!mayBeOurs(request.headers, webhook.secret)) throw refuse(request)
    },
    async handler(request, reply) {
      const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      if (webhook === null || !isOurs(request.headers, bytes, webhook.secret, now())) throw refuse(request)
      const event = readWebhook(request.headers, bytes, now())
      const ids = await queue.ingest(event)
      audit.record({
        event_type: 'auth',
        action: 'webhook',
        outcome: 'allowed',
        request_id: request.id,
        facts: { kind: event.eventType, source_id: event.sourceId, work_items: ids.length },
      })
      reply.code(202)
      return { work_items: [...ids] }
    },
  })
}
