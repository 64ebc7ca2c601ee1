/**
 * POST /api/v1/work-items: the desired state of one work item goes in. The body belongs to its item type, which reads it
 * once and reports all faults at once; this route only finds out which type that is, and lends it the caller's rights.
 */
import { z } from 'zod'
import { MAX_SUBMISSION_BYTES } from '../../contract/requests.ts'
import { submitAnswerSchema } from '../../contract/work-item.ts'
import { readShape } from '../../lib/read-shape.ts'
import { RequestRefused } from '../classify-error.ts'
import { noQuery, validatorCompilerButBody } from '../validation.ts'
import { coreView } from '../views.ts'
import { type Api, answer, problemResponses, type RouteDependencies } from './route.ts'

const bodySchema = z.looseObject({ item_type: z.string().min(1).max(100) })

export function registerSubmitWorkItem(app: Api, { queue, access }: RouteDependencies): void {
  app.route({
    method: 'POST',
    url: '/work-items',
    bodyLimit: MAX_SUBMISSION_BYTES,
    onRequest: access.authenticate('submit'),
    validatorCompiler: validatorCompilerButBody,
    schema: {
      operationId: 'submitWorkItem',
      tags: ['work items'],
      summary: 'Submit the desired state of a work item',
      description:
        'Says what should be true; the service finds out what that means for what exists. Sending the same again is ' +
        'harmless (`unchanged`), sending a change updates the same item, and after its end a new generation begins.',
      querystring: noQuery,
      body: z.xor([...queue.itemTypes.values()].map((type) => type.submissionSchema)),
      response: {
        200: answer(submitAnswerSchema, 'It was known: `unchanged`, `updated` or `retried`.'),
        201: answer(submitAnswerSchema, 'A new work item: `created`.'),
        ...problemResponses(
          ...(['malformed_json', 'invalid_utf8', 'payload_too_large', 'unsupported_media_type'] as const),
          ...(['submission_rejected', 'item_type_not_handled', 'owned_by_another_caller'] as const),
          ...(['too_many_open_items', 'busy'] as const),
        ),
      },
    },
    async handler(request, reply) {
      const reading = readShape(bodySchema, request.body, 'the body')
      if (!reading.ok) throw new RequestRefused(reading.findings)
      const itemType = reading.value.item_type
      const rights = access.rightsFor(request, itemType)
      const { outcome, item } = await queue.submit(itemType, request.body, access.callerOf(request), rights)
      reply.code(outcome === 'created' ? 201 : 200).header('location', `/api/v1/work-items/${item.id}`)
      return { outcome, work_item: coreView(item) }
    },
  })
}
