/**
 * POST /api/v1/work-items/{id}/cancel: asks an item to end. The answer comes when the wish is stored; the item is over
 * when the service has cleaned up outside.
 */
import { workItemParamsSchema } from '../../contract/requests.ts'
import { workItemCoreSchema } from '../../contract/work-item.ts'
import { noQuery, refuseBody } from '../validation.ts'
import { coreView } from '../views.ts'
import { type Api, answer, problemResponses, type RouteDependencies } from './route.ts'

export function registerCancelWorkItem(app: Api, { queue, access }: RouteDependencies): void {
  app.route({
    method: 'POST',
    url: '/work-items/:id/cancel',
    onRequest: access.authenticate('cancel'),
    schema: {
      operationId: 'cancelWorkItem',
      tags: ['work items'],
      summary: 'Cancel a work item',
      description: 'Stores the wish and answers; the service then cleans up, and the item becomes cancelled.',
      params: workItemParamsSchema,
      querystring: noQuery,
      response: {
        202: answer(workItemCoreSchema, 'The wish is stored.'),
        ...problemResponses('work_item_not_found', 'not_cancellable', 'superseded'),
      },
    },
    async handler(request, reply) {
      refuseBody(request.body)
      const item = await queue.getItem(request.params.id)
      const caller = access.requireForItem(request, 'cancel', item)
      reply.code(202)
      return coreView(await queue.cancel(item.id, caller))
    },
  })
}
