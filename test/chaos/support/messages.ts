/** What a chaos script and its workers say to each other. */
import { z } from 'zod'
import { errandEventSchema } from './chaos-errand.ts'

export const workerOptionsSchema = z.object({
  name: z.string(),
  url: z.string(),
  journal: z.string(),
  /** As in the configuration file. */
  config: z.record(z.string(), z.unknown()),
  maxConnections: z.int(),
  /** Where to hear the wake-ups of others; null = nowhere. */
  listenUrl: z.string().nullable(),
  /** false: accepts submissions and events, and works on nothing. */
  works: z.boolean(),
})
export type WorkerOptions = z.infer<typeof workerOptionsSchema>

const idSchema = z.object({ id: z.string() })

export const callSchema = z.object({
  id: z.int(),
  call: z.discriminatedUnion('name', [
    z.object({ name: z.literal('submit'), item: z.string(), text: z.string() }),
    z.object({ name: z.literal('ingest'), event: errandEventSchema, eventAt: z.string() }),
    idSchema.extend({ name: z.literal('retry') }),
    idSchema.extend({ name: z.literal('cancel') }),
    /** Does it hear the wake-ups of others? */
    z.object({ name: z.literal('listening') }),
    /** Holds every connection of the pool for so long. */
    z.object({ name: z.literal('exhaust'), milliseconds: z.number() }),
  ]),
})
export type Call = z.infer<typeof callSchema>['call']

export const replySchema = z.object({
  id: z.int(),
  value: z.unknown().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
})
export type Reply = z.infer<typeof replySchema>
