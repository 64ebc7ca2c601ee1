/**
 * POST /api/v1/inspect: the dry run of a submission. It writes nothing, here or outside, and so it answers 200 whenever the
 * question has been answered, findings or not. What the target holds now is shown only to callers who may read it: the
 * service has rights in GitLab that its callers have not.
 */
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { inspectionSchema } from '../../contract/inspection.ts'
import { MAX_SUBMISSION_BYTES } from '../../contract/requests.ts'
import { WorkQueueError } from '../../lib/errors.ts'
import { readShape } from '../../lib/read-shape.ts'
import { type Inspection, SubmissionRejected } from '../../queue/work-queue.ts'
import { RequestRefused } from '../classify-error.ts'
import { noQuery, validatorCompilerButBody } from '../validation.ts'
import { type Api, answer, problemResponses, type RouteDependencies } from './route.ts'

const bodySchema = z.looseObject({ item_type: z.string().min(1).max(100) })

/** It asks GitLab, a caller waits for it, and nothing holds it back but this. */
const MAX_AT_ONCE = 8
const TIMEOUT_MS = 20_000

export function registerInspectSubmission(app: Api, { queue, access }: RouteDependencies): void {
  const atMost = createLimit(MAX_AT_ONCE)
  app.route({
    method: 'POST',
    url: '/inspect',
    bodyLimit: MAX_SUBMISSION_BYTES,
    onRequest: access.authenticate('submit'),
    validatorCompiler: validatorCompilerButBody,
    schema: {
      operationId: 'inspectSubmission',
      tags: ['work items'],
      summary: 'Find out what a submission would do',
      description:
        'A dry run: inspects the submission, looks at the target, and writes nothing. Findings are part of the answer. ' +
        'What it says holds for now; the target or the rules may be others when the submission comes.',
      querystring: noQuery,
      body: z.xor([...queue.itemTypes.values()].map((type) => type.submissionSchema)),
      response: {
        200: answer(inspectionSchema, 'What it would do, or, with `outcome` null, why it would be refused.'),
        ...problemResponses(
          ...(['malformed_json', 'invalid_utf8', 'payload_too_large', 'unsupported_media_type'] as const),
          ...(['item_type_not_handled', 'owned_by_another_caller', 'busy', 'unavailable'] as const),
        ),
      },
    },
    async handler(request, reply) {
      const reading = readShape(bodySchema, request.body, 'the body')
      if (!reading.ok) throw new RequestRefused(reading.findings)
      const itemType = reading.value.item_type
      const rights = access.rightsFor(request, itemType)
      const mayReadContents = access.mayReadContents(request, itemType)
      const signal = AbortSignal.any([hangUpOf(reply), AbortSignal.timeout(TIMEOUT_MS)])
      const inspection = await atMost(() =>
        queue
          .inspect(itemType, request.body, access.callerOf(request), { rights, mayReadContents, signal })
          .catch(asFindings),
      )
      return inspectionSchema.parse(inspection)
    },
  })
}

/** Fastify's own signal listens to the request, which is over as soon as its body has been read. */
function hangUpOf({ raw }: FastifyReply): AbortSignal {
  const caller = new AbortController()
  raw.once('close', () => caller.abort())
  return caller.signal
}

/** A body that its schema refuses is refused by the dry run in the same way as by the rules. */
function asFindings(error: unknown): Inspection {
  if (error instanceof SubmissionRejected) return { outcome: null, findings: error.findings, policy: {}, changes: [] }
  throw error
}

function createLimit(max: number): <T>(run: () => Promise<T>) => Promise<T> {
  let running = 0
  return async (run) => {
    if (running >= max) {
      const wait = { failure: 'transient', retryAfterMs: 1_000 } as const
      throw new WorkQueueError('busy', 'Too many submissions are being inspected at once. Send it again.', wait)
    }
    running += 1
    try {
      return await run()
    } finally {
      running -= 1
    }
  }
}
