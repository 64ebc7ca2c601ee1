/**
 * The queue as the REST API shows it to operators: what it is doing, and the events that were set aside. Event bodies are
 * in none of these shapes.
 */
import { z } from 'zod'
import { EVENT_STAGES } from '../lib/event-counts.ts'
import { phaseSchema } from './work-item.ts'

const time = z.iso.datetime()
const count = z.number().int().min(0)

const awake = {
  due: count.describe('Items whose time has come and that nobody works on.'),
  oldest_due_at: time.nullable().describe('Since when the oldest of them is due.'),
  running: count.describe('Items that some process has claimed.'),
  backoff: count.describe('Items that failed and are tried again later.'),
  next_retry_at: time.nullable().describe('When the first of them is tried again.'),
  pending_events: count.describe('Stored events that were not applied yet.'),
  oldest_event_at: time.nullable().describe('When the oldest of them arrived.'),
  dead_events: count.describe('Events that failed five times and were set aside; of items that are not over.'),
}

const resting = {
  active: count.describe('All items that are not over.'),
  deferred: count.describe('Items at rest until a time.'),
  next_look_at: time.nullable().describe('When the first of them is looked at again.'),
  idle: count
    .nullable()
    .describe('Items at rest with no time: only an event or a caller wakes them. null = not counted.'),
  counted_all: z
    .boolean()
    .describe('False when there are more than 10,000: `active` and `deferred` are then at least what they say.'),
}

const processSchema = z.object({
  workers: count.describe('How many items it works on at a time.'),
  running: count.describe('How many it works on now.'),
  held: count.describe('Items it has claimed: those it works on, and those that wait in it for a worker.'),
  draining: z.boolean().describe('It is stopping, and begins nothing new.'),
  listening: z
    .enum(['on', 'off', 'lost'])
    .describe(
      'Whether it hears the wake-ups of other processes; without them the sweep finds the work a little later.',
    ),
  events: z
    .record(z.enum(EVENT_STAGES), count)
    .describe('What became of the events that it has met since its start; one event may be for several items.'),
})

export const queueStatusSchema = z
  .object({
    now: time.describe("The database's clock; all ages are to be taken from it."),
    item_types: z.array(z.string()).describe('What is counted: types that this process handles and you administer.'),
    total: z.object({ ...awake, ...resting }),
    by_item_type: z.array(z.object({ item_type: z.string(), ...awake, ...resting })),
    by_concurrency_key: z
      .array(z.object({ item_type: z.string(), concurrency_key: z.string(), ...awake }))
      .describe('Of an mr, the project. At most 50, those with most due first; keys that are quiet are left out.'),
    running_items: z
      .array(
        z.object({
          id: z.uuid(),
          item_type: z.string(),
          dedup_key: z.string(),
          concurrency_key: z.string().nullable(),
          leased_at: time.describe('When its worker claimed it.'),
          leased_until: time.describe('Others take over then, unless its worker renews the lease.'),
          attempts: count.describe('Failures in a row of the current action.'),
        }),
      )
      .describe('At most 20, the oldest claims first.'),
    oldest_due: z.object({ id: z.uuid(), item_type: z.string(), since: time }).nullable(),
    process: processSchema.describe('The process that answers. Everything else is about all of them together.'),
  })
  .meta({ id: 'QueueStatus' })

const eventIdSchema = z
  .string()
  .regex(/^[1-9]\d{0,17}$/, 'must be the number of an event, such as 42')
  .describe('The number of an event.')

export const eventParamsSchema = z.strictObject({ id: eventIdSchema })

export const deadEventsQuerySchema = z.strictObject({
  work_item_id: z.uuid().optional().describe('Only events of this work item.'),
  limit: z.coerce.number().int().min(1).max(100).default(20).describe('How many events a page holds.'),
  before: eventIdSchema.optional().describe('`next` of the page before.'),
})

export type DeadEventsQuery = z.input<typeof deadEventsQuerySchema>

const event = {
  id: eventIdSchema,
  work_item_id: z.uuid(),
  item_type: z.string(),
  event_type: z.string().describe('What kind of event: merge_request, pipeline, …'),
}

export const deadEventsSchema = z
  .object({
    events: z
      .array(
        z.object({
          ...event,
          dedup_key: z.string().describe('Of the work item.'),
          phase: phaseSchema.describe('Of the work item; only the events of an active one can be revived.'),
          event_at: time.describe('When it happened.'),
          received_at: time.describe('When it arrived.'),
          attempts: count.describe('How often it failed.'),
          error: z.string().nullable().describe('How it failed the last time.'),
        }),
      )
      .describe('Newest first.'),
    next: eventIdSchema.nullable().describe('Send it as `before` to get the next page; null on the last one.'),
  })
  .meta({ id: 'DeadEvents' })

export const revivedSchema = z
  .object({ events: z.array(z.object(event)).describe('They are tried again, as if they had just arrived.') })
  .meta({ id: 'RevivedEvents' })

export type QueueStatus = z.infer<typeof queueStatusSchema>
export type DeadEvents = z.infer<typeof deadEventsSchema>
export type RevivedEvents = z.infer<typeof revivedSchema>
