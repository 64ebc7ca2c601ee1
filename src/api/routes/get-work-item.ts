/**
 * GET /api/v1/work-items/{id}: everything about one item, what it waits for included.
 */
import { workItemParamsSchema } from '../../contract/requests.ts'
import { workItemSchema } from '../../contract/work-item.ts'
import { noQuery } from '../validation.ts'
import { fullView } from '../views.ts'
import { type Api, answer, problemResponses, type RouteDependencies } from './route.ts'

export function registerGetWorkItem(app: Api, { queue, access }: RouteDependencies): void {
  app.route({
    method: 'GET',
    url: '/work-items/:id',
    onRequest: access.authenticate('read'),
    schema: {
      operationId: 'getWorkItem',
      tags: ['work items'],
      summary: 'Show one work item',
      description: 'With its dimensions, and with its blockers: what it waits for, and who can clear it.',
      params: workItemParamsSchema,
      querystring: noQuery,
      response: { 200: answer(workItemSchema, 'The work item.'), ...problemResponses('work_item_not_found') },
    },
    async handler(request) {
      const { snapshot, presentation } = await queue.get(request.params.id)
      access.requireForItem(request, 'read', snapshot.item)
      return fullView(snapshot.item, presentation, snapshot.dimensions)
    },
  })
}
