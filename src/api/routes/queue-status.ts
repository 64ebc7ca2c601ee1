/**
 * GET /api/v1/queue: what the queue is doing, for whoever was woken at night. Item types that the caller does not
 * administer as a whole are left out of every number.
 */
import { queueStatusSchema } from '../../contract/queue.ts'
import { queueStatusView } from '../queue-views.ts'
import { noQuery } from '../validation.ts'
import { type AdminRouteDependencies, type Api, answer, problemResponses } from './route.ts'

export function registerQueueStatus(app: Api, { queue, admin, access }: AdminRouteDependencies): void {
  app.route({
    method: 'GET',
    url: '/queue',
    onRequest: access.authenticate('admin'),
    schema: {
      operationId: 'queueStatus',
      tags: ['operation'],
      summary: 'What is the queue doing?',
      description: 'What is due and since when, what runs, what waits and until when, and what was set aside.',
      querystring: noQuery,
      response: { 200: answer(queueStatusSchema, 'All numbers are of one instant.'), ...problemResponses() },
    },
    async handler(request) {
      const mayAdminister = access.typesFor(request, 'admin')
      return queueStatusView(await admin.status([...queue.itemTypes.keys()].filter(mayAdminister)))
    },
  })
}
