/**
 * GET, POST and DELETE /api/v1/pauses: the kill switch. Whoever pauses or resumes has to administer everything that the pause
 * holds: a right that is limited to a project reaches pauses of that project.
 */
import type { FastifyRequest } from 'fastify'
import {
  type PauseView,
  pauseParamsSchema,
  pauseRequestSchema,
  pauseSchema,
  pausesSchema,
} from '../../contract/pauses.ts'
import type { Pause, PauseScope } from '../../queue/pause.ts'
import { noQuery, refuseBody } from '../validation.ts'
import { type AdminRouteDependencies, type Api, answer, problemResponses } from './route.ts'

export function registerPauses(app: Api, { queue, pauses, access }: AdminRouteDependencies): void {
  /** @throws WorkQueueError `permission_denied`. */
  function demand(request: FastifyRequest, { itemType, concurrencyKey }: PauseScope): string {
    const types = itemType === null ? [...queue.itemTypes.keys()] : [itemType]
    const scope = concurrencyKey === null ? {} : { project: concurrencyKey }
    return access.requireForTypes(request, 'admin', types, scope)
  }

  app.route({
    method: 'GET',
    url: '/pauses',
    onRequest: access.authenticate('admin'),
    schema: {
      operationId: 'listPauses',
      tags: ['operation'],
      summary: 'What is paused?',
      description: 'All pauses, whoever made them.',
      querystring: noQuery,
      response: { 200: answer(pausesSchema, 'Oldest first.'), ...problemResponses() },
    },
    async handler(request) {
      access.recordRead(request, 'admin')
      return { pauses: (await pauses.list()).map(pauseView) }
    },
  })
  app.route({
    method: 'POST',
    url: '/pauses',
    onRequest: access.authenticate('admin'),
    schema: {
      operationId: 'pause',
      tags: ['operation'],
      summary: 'Pause a caller, a project, an item type, or everything',
      description:
        'Within a second nothing of it is worked on any more, in no process, and what runs is interrupted before its next ' +
        'write. Submissions and events are still taken. Pausing the same again changes the reason.',
      querystring: noQuery,
      body: pauseRequestSchema,
      response: {
        200: answer(pauseSchema, 'It was paused already; the reason is the new one.'),
        201: answer(pauseSchema, 'It is paused.'),
        ...problemResponses('malformed_json', 'invalid_utf8', 'unsupported_media_type'),
      },
    },
    async handler(request, reply) {
      const { item_type, concurrency_key, caller, reason } = request.body
      const scope = {
        itemType: item_type ?? null,
        concurrencyKey: concurrency_key ?? null,
        callerIdentity: caller ?? null,
      }
      const { pause, isNew } = await pauses.pause(scope, reason, demand(request, scope))
      reply.code(isNew ? 201 : 200)
      return pauseView(pause)
    },
  })
  app.route({
    method: 'DELETE',
    url: '/pauses/:id',
    onRequest: access.authenticate('admin'),
    schema: {
      operationId: 'resume',
      tags: ['operation'],
      summary: 'End a pause',
      description: 'What it held is due at once, unless another pause holds it.',
      params: pauseParamsSchema,
      querystring: noQuery,
      response: { 200: answer(pauseSchema, 'The pause that was.'), ...problemResponses('pause_not_found') },
    },
    async handler(request) {
      refuseBody(request.body)
      const pause = await pauses.get(request.params.id)
      return pauseView(await pauses.resume(pause.id, demand(request, pause)))
    },
  })
}

function pauseView({ id, itemType, concurrencyKey, callerIdentity, reason, createdBy, createdAt }: Pause): PauseView {
  return {
    id,
    item_type: itemType,
    concurrency_key: concurrencyKey,
    caller: callerIdentity,
    reason,
    created_by: createdBy,
    created_at: createdAt.toISOString(),
  }
}
