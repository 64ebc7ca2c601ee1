/**
 * POST /api/v1/webhooks/gitlab: GitLab says that something happened. The sender proves itself with the webhook's secret
 * instead of a caller's token. 202 comes after the commit, so that GitLab may forget the event; what it means is found
 * out later, by whoever works on the item. An answer comes before GitLab gives up, whatever the load: a delivery for which
 * there is no room is refused at once, and one that cannot be stored in time is refused then, although it may yet be stored.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Audit } from '../../audit/entry.ts'
import { webhookAnswerSchema } from '../../contract/webhook.ts'
import { isOurs, mayBeOurs, readWebhook } from '../../events/webhook.ts'
import { WorkQueueError } from '../../lib/errors.ts'
import type { EventCounts } from '../../lib/event-counts.ts'
import type { WorkQueue } from '../../queue/work-queue.ts'
import { createInFlight, type InFlightLimits, type Place } from '../in-flight.ts'
import { noQuery, validatorCompilerButBody } from '../validation.ts'
import { type Api, answer, onlyProblems } from './route.ts'

/** GitLab's own limit. */
const BODY_LIMIT_BYTES = 25 * 1024 * 1024
/** GitLab waits for ten seconds by default. */
const LIMITS: WebhookLimits = { requests: 100, bytes: 100 * 1024 * 1024, answerWithinMs: 8_000 }
const RETRY_AFTER_MS = 1_000

export interface WebhookDependencies {
  readonly queue: WorkQueue
  readonly audit: Audit
  readonly webhook: { readonly secret: string } | null
  readonly now: () => Date
  readonly counts: EventCounts
  readonly limits?: WebhookLimits
}

export interface WebhookLimits extends InFlightLimits {
  readonly answerWithinMs: number
}

/** Register it in a scope of its own: it replaces the body parser by one that keeps the bytes, which the signature covers. */
export function registerGitLabWebhook(
  app: Api,
  { queue, audit, webhook, now, counts, limits = LIMITS }: WebhookDependencies,
): void {
  const inFlight = createInFlight(limits)
  const places = new WeakMap<FastifyRequest, Place>()

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: unknown, bytes: Buffer) => bytes)

  function refuse(request: FastifyRequest): WorkQueueError {
    const code = 'webhook_unauthenticated'
    audit.record({ event_type: 'auth', action: 'webhook', outcome: 'denied', error_code: code, request_id: request.id })
    return new WorkQueueError(code, 'The delivery does not prove that its sender knows the secret of this webhook.')
  }

  function shed(why: string): WorkQueueError {
    counts.add('shed')
    const message = `The service is busy: ${why}. What it says is found out later without it.`
    return new WorkQueueError('busy', message, { failure: 'transient', retryAfterMs: RETRY_AFTER_MS })
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
          ...(['busy', 'database_unavailable'] as const),
        ),
      },
    },
    async onRequest(request, reply) {
      if (webhook === null) {
        throw new WorkQueueError('webhook_not_configured', 'This service takes no webhooks: it has no webhook secret.')
      }
      if (!mayBeOurs(request.headers, webhook.secret)) throw refuse(request)
      const place = inFlight.enter(sizeOf(request))
      if (place === null) throw shed('too many deliveries are under way')
      places.set(request, place)
      reply.raw.once('close', () => place.leave())
    },
    async handler(request, reply) {
      const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      if (webhook === null || !isOurs(request.headers, bytes, webhook.secret, now())) throw refuse(request)
      counts.add('received_webhook')
      const event = readWebhook(request.headers, bytes, now())
      const storing = queue.ingest(event)
      const place = places.get(request)
      place?.hold()
      const leave = () => place?.leave()
      void storing.then(leave, leave)
      const ids = await within(limits.answerWithinMs - reply.elapsedTime, storing)
      if (ids === null) throw shed('the delivery could not be stored in time')
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

/** Of a body without a length nobody knows before it has arrived. */
function sizeOf({ headers }: FastifyRequest): number {
  const length = Number(headers['content-length'] ?? Number.NaN)
  return Number.isSafeInteger(length) ? length : BODY_LIMIT_BYTES
}

/** null: it takes longer. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | null> {
  const done = new AbortController()
  try {
    return await Promise.race([promise, delay(ms, null, { signal: done.signal })])
  } finally {
    done.abort()
  }
}
