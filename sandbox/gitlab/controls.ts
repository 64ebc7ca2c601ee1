/**
 * The sandbox's own controls, which no GitLab has: `/sandbox/faults`, the rules by which requests fail,
 * `/sandbox/refresh-delay`, how long a merge request goes on showing its old head after a push, and `/sandbox/writes`, the
 * list of what was really changed. For administrators; programs in this process have both on the
 * RunningSandbox.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { requireUser } from './auth.ts'
import type { SandboxContext } from './context.ts'
import { forbidden, recordNotFound } from './errors.ts'
import type { Faults } from './faults/faults.ts'
import { readFaultRule } from './faults/rule.ts'
import { integer, numberParam, readParams, text } from './params.ts'
import { noContent } from './routes/projects.ts'
import type { FindWrites } from './writes.ts'

const filter = z.object({
  kind: text.optional(),
  project: text.optional(),
  branch: text.optional(),
  merge_request_iid: integer.optional(),
  user: text.optional(),
})

export interface Controlled {
  readonly faults: Faults
  readonly writes: FindWrites
}

export function registerControls(app: FastifyInstance, context: SandboxContext, controlled: Controlled): void {
  const { faults, writes } = controlled
  const requireAdministrator = async (request: FastifyRequest) => {
    if (!requireUser(request, context).admin) throw forbidden()
  }
  const options = { onRequest: requireAdministrator }
  app.get('/sandbox/faults', options, async () => faults.list())
  app.post('/sandbox/faults', options, async (request, reply) =>
    reply.code(201).send(faults.add(readFaultRule(request.body))),
  )
  app.delete('/sandbox/faults', options, async (_request, reply) => {
    faults.clear()
    return noContent(reply)
  })
  app.delete('/sandbox/faults/:fault_id', options, async (request, reply) => {
    if (!faults.remove(numberParam(request, 'fault_id'))) throw recordNotFound()
    return noContent(reply)
  })
  app.get('/sandbox/refresh-delay', options, async () => ({ ms: context.refreshDelayMs }))
  app.put('/sandbox/refresh-delay', options, async (request) => {
    const { ms } = readParams(request, z.object({ ms: integer.pipe(z.int().min(0).max(600_000)) }))
    context.refreshDelayMs = ms
    return { ms }
  })
  app.get('/sandbox/writes', options, async (request) => {
    const { merge_request_iid: mergeRequestIid, ...others } = readParams(request, filter)
    return writes({ ...others, mergeRequestIid }).map(({ mergeRequestIid: iid, ...write }) => ({
      ...write,
      merge_request_iid: iid,
    }))
  })
}
