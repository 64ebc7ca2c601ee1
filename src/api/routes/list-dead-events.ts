/**
 * GET /api/v1/queue/dead-events: events that failed five times and were set aside, newest first. Their bodies are not
 * shown: they may hold anything that their sender had.
 */
import { deadEventsQuerySchema, deadEventsSchema } from '../../contract/queue.ts'
import { deadEventView } from '../queue-views.ts'
import { type AdminRouteDependencies, type Api, answer, problemResponses } from './route.ts'

export function registerListDeadEvents(app: Api, { queue, admin, access }: AdminRouteDependencies): void {
  app.route({
    method: 'GET',
    url: '/queue/dead-events',
    onRequest: access.authenticate('admin'),
    schema: {
      operationId: 'listDeadEvents',
      tags: ['operation'],
      summary: 'List dead events, newest first',
      description: 'Events that failed five times. `next` of one answer is `before` of the request for the next page.',
      querystring: deadEventsQuerySchema,
      response: { 200: answer(deadEventsSchema, 'One page.'), ...problemResponses() },
    },
    async handler(request) {
      const { work_item_id, limit, before } = request.query
      const mayAdminister = access.typesFor(request, 'admin')
      const { events, next } = await admin.deadEvents({
        limit,
        itemTypes: [...queue.itemTypes.keys()].filter(mayAdminister),
        ...(work_item_id === undefined ? {} : { workItemId: work_item_id }),
        ...(before === undefined ? {} : { before }),
      })
      return { events: events.map(deadEventView), next }
    },
  })
}
