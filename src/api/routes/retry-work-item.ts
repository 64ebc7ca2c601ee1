/**
 * POST /api/v1/work-items/{id}/retry: brings a failed or cancelled item back, or makes an active one try now.
 */
import { workItemParamsSchema } from '../../contract/requests.ts'
import { workItemCoreSchema } from '../../contract/work-item.ts'
import { noQuery, refuseBody } from '../validation.ts'
import { coreView } from '../views.ts'
import { type Api, answer, problemResponses, type RouteDependencies } from './route.ts'

export function registerRetryWorkItem(app: Api, { queue, access }: RouteDependencies): void {
  app.route({
    method: 'POST',
    url: '/work-items/:id/retry',
    onRequest: access.authenticate('retry'),
    schema: {
      operationId: 'retryWorkItem',
      tags: ['work items'],
      summary: 'Try a work item again',
      description: 'A failed or cancelled item becomes active again; an active one stops waiting and tries now.',
      params: workItemParamsSchema,
      querystring: noQuery,
      response: {
        200: answer(workItemCoreSchema, 'The work item, active.'),
        ...problemResponses('work_item_not_found', 'not_retryable', 'superseded'),
      },
    },
    async handler(request) {
      refuseBody(request.body)
      const item = await queue.getItem(request.params.id)
      const caller = access.requireForItem(request, 'retry', item)
      return coreView(await queue.retry(item.id, caller))
    },
  })
}
