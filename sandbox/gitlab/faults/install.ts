/**
 * Lets the rules in force happen to requests. The decision falls once the request has been read and before its route
 * runs, so that a client that gives up during a delay has its write carried out all the same, as a slow GitLab would.
 * Delays are real milliseconds of the sandbox's clock: the client's timeouts, too, are not scaled. The sandbox's own
 * controls are out of reach, or a rule that hits everything could not be taken back.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock, SandboxContext, TimerHandle } from '../context.ts'
import { sendFault } from './answer.ts'
import type { Fault, FaultPlanner, Plan } from './faults.ts'

/** An answer as it was, for stale_read. */
interface OldAnswer {
  readonly status: number
  readonly headers: ReturnType<FastifyReply['getHeaders']>
  readonly body: string
}

const CONTROLS = '/sandbox/'

export function installFaults(app: FastifyInstance, context: SandboxContext, faults: FaultPlanner): void {
  const plans = new WeakMap<FastifyRequest, Plan>()
  const memory = createMemory()
  const delays = createDelays(context.clock)
  app.addHook('preClose', async () => delays.stop())

  app.addHook('preHandler', async (request, reply) => {
    const [path = ''] = request.url.split('?')
    if (path.startsWith(CONTROLS)) return
    const plan = faults.plan(request.method, path, (fault) => memory.find(fault, request) !== undefined)
    plans.set(request, plan)
    if (plan.delayMs > 0 && (await delays.wait(plan.delayMs)) === 'stopped') return hangUp(request, reply)
    const { ending } = plan
    if (ending?.kind === 'status') return sendFault(reply, ending, context.clock.now())
    if (ending?.kind === 'drop_before') return hangUp(request, reply)
    const old = ending?.kind === 'stale_read' ? memory.find(ending, request) : undefined
    if (old !== undefined) return reply.code(old.status).headers(old.headers).send(old.body)
  })

  // Runs after what keeps the records, so that nothing is lost with the answer.
  app.addHook('onSend', async (request, reply, payload) => {
    const plan = plans.get(request)
    if (plan?.ending?.kind === 'drop_after') request.raw.socket.destroy()
    if (plan?.ending == null && typeof payload === 'string') {
      const answer = { status: reply.statusCode, headers: reply.getHeaders(), body: payload }
      for (const fault of plan?.remember ?? []) memory.keep(fault, request, answer)
    }
    return payload
  })
}

/** Ends the connection without an answer; no route runs any more. */
function hangUp(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.hijack()
  request.raw.socket.destroy()
  return reply
}

/** The last fresh answer to each request, by rule and by who asked: nobody sees what was another's to see. */
function createMemory() {
  const answers = new WeakMap<Fault, Map<string, OldAnswer>>()
  const keyOf = ({ url, headers }: FastifyRequest) =>
    JSON.stringify([url, headers.authorization, headers['private-token']])
  return {
    find: (fault: Fault, request: FastifyRequest) => answers.get(fault)?.get(keyOf(request)),
    keep(fault: Fault, request: FastifyRequest, answer: OldAnswer) {
      const ofRule = answers.get(fault) ?? new Map<string, OldAnswer>()
      answers.set(fault, ofRule.set(keyOf(request), answer))
    },
  }
}

/** Waits that end with the sandbox: a request must not be carried out on records that were already written. */
function createDelays(clock: Clock) {
  const waiting = new Map<TimerHandle, () => void>()
  return {
    wait(ms: number): Promise<'over' | 'stopped'> {
      return new Promise((resolve) => {
        const handle = clock.setTimeout(() => {
          waiting.delete(handle)
          resolve('over')
        }, ms)
        waiting.set(handle, () => resolve('stopped'))
      })
    },
    stop() {
      for (const [handle, stopped] of waiting) {
        clock.clearTimeout(handle)
        stopped()
      }
      waiting.clear()
    },
  }
}
