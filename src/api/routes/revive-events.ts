/**
 * POST /api/v1/queue/dead-events/{id}/revive and /api/v1/work-items/{id}/revive-events: one dead event, or all those of an
 * item, get another five tries. For when what they failed on was mended.
 */
import { eventParamsSchema, revivedSchema } from '../../contract/queue.ts'
import { workItemParamsSchema } from '../../contract/requests.ts'
import { revivedView } from '../queue-views.ts'
import { noQuery, refuseBody } from '../validation.ts'
import { type AdminRouteDependencies, type Api, answer, problemResponses } from './route.ts'

const response = {
  200: answer(revivedSchema, 'They are stored as new, and their items are woken.'),
  ...problemResponses('dead_event_not_found', 'work_item_not_found', 'item_not_active'),
}

export function registerReviveEvents(app: Api, { queue, admin, access }: AdminRouteDependencies): void {
  app.route({
    method: 'POST',
    url: '/queue/dead-events/:id/revive',
    onRequest: access.authenticate('admin'),
    schema: {
      operationId: 'reviveDeadEvent',
      tags: ['operation'],
      summary: 'Try a dead event again',
      description: 'Its item must be active: only active items take events.',
      params: eventParamsSchema,
      querystring: noQuery,
      response,
    },
    async handler(request) {
      refuseBody(request.body)
      const { id, workItemId } = await admin.deadEvent(request.params.id)
      const caller = access.requireForItem(request, 'admin', await queue.getItem(workItemId))
      return { events: [revivedView(await admin.revive(id, caller))] }
    },
  })
  app.route({
    method: 'POST',
    url: '/work-items/:id/revive-events',
    onRequest: access.authenticate('admin'),
    schema: {
      operationId: 'reviveEventsOfWorkItem',
      tags: ['operation'],
      summary: 'Try all dead events of a work item again',
      description: 'Oldest first, like any events. The item must be active: only active items take events.',
      params: workItemParamsSchema,
      querystring: noQuery,
      response,
    },
    async handler(request) {
      refuseBody(request.body)
      const item = await queue.getItem(request.params.id)
      const caller = access.requireForItem(request, 'admin', item)
      return { events: (await admin.reviveAllOf(item.id, caller)).map(revivedView) }
    },
  })
}
