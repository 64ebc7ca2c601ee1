/**
 * GET /api/v1/work-items: one page, newest first. What the caller may not see is left out.
 */
import { listQuerySchema } from '../../contract/requests.ts'
import { listAnswerSchema } from '../../contract/work-item.ts'
import { listedView } from '../views.ts'
import { type Api, answer, problemResponses, type RouteDependencies } from './route.ts'

export function registerListWorkItems(app: Api, { queue, access }: RouteDependencies): void {
  app.route({
    method: 'GET',
    url: '/work-items',
    onRequest: access.authenticate('read'),
    schema: {
      operationId: 'listWorkItems',
      tags: ['work items'],
      summary: 'List work items, newest first',
      description:
        'All filters must fit. `next` of one answer is `before` of the request for the next page; only a page without it ' +
        'is the last one: of what is rare among many, because you search for it or may see little else, a page may hold ' +
        'fewer than asked for, or nothing.',
      querystring: listQuerySchema,
      response: { 200: answer(listAnswerSchema, 'One page.'), ...problemResponses() },
    },
    async handler(request) {
      const { item_type, phase, caller, concurrency_key, search, limit, before } = request.query
      const { hasAny, isWhole, isVisible } = access.visibleItems(request)
      const itemTypes = [...queue.itemTypes.keys()].filter((name) => hasAny(name) && (item_type ?? name) === name)
      const { items, next } = await queue.list({
        limit,
        itemTypes,
        ...(itemTypes.every(isWhole) ? {} : { isVisible }),
        ...(phase === undefined ? {} : { phase }),
        ...(caller === undefined ? {} : { callerIdentity: caller }),
        ...(concurrency_key === undefined ? {} : { concurrencyKeys: [concurrency_key] }),
        ...(search === undefined ? {} : { search }),
        ...(before === undefined ? {} : { before }),
      })
      return { items: items.map(({ item, presentation }) => listedView(item, presentation)), next }
    },
  })
}
