/**
 * The work item as the REST API shows it: three shapes, each the one before and more. The core is what every write
 * answers with; lists add how the item presents itself; one item alone also shows its dimensions. Keys are snake_case,
 * times are ISO 8601 in UTC.
 */
import { z } from 'zod'

export const phaseSchema = z.enum(['active', 'completed', 'failed', 'cancelled'])

const time = z.iso.datetime()

const core = {
  id: z.uuid().describe('UUID version 7.'),
  item_type: z.string(),
  phase: phaseSchema.describe('active until it is over; then how it ended.'),
  resolution: z.string().nullable().describe('Why it is over: merged, closed, empty, …; null while active.'),
  generation: z.number().int().describe('Which life of the same identity this is, from 1.'),
  dedup_key: z.string().describe('The natural identity: what is submitted again under it is the same item.'),
  idempotency_key: z.string().describe('The dedup key and the generation.'),
  caller_identity: z.string().describe('Who submitted it.'),
  actionable: z.boolean().describe('Whether the service has something to do now.'),
  attempts: z.number().int().describe('Failures in a row of the current action.'),
  last_error: z
    .object({ code: z.string(), message: z.string(), at: z.string() })
    .nullable()
    .describe('The newest failure, if the last action failed.'),
  retry_at: time.nullable().describe('Not tried again before this time.'),
  revision: z.number().int().describe('Grows with every write by a caller.'),
  created_at: time,
  updated_at: time,
}

const link = z.object({ name: z.string(), url: z.string() })

const presentation = {
  summary: z.string().describe('One line: what the item is about.'),
  links: z.array(link),
  blockers: z
    .array(
      z.object({
        code: z.string(),
        message: z.string(),
        since: time.nullable(),
        cleared_by: z.string().describe('Who can clear it.'),
        links: z.array(link).describe('What it is about: the jobs that failed.'),
      }),
    )
    .describe('What the item waits for.'),
  detail: z.record(z.string(), z.unknown()).describe('What is special to its type, without file contents.'),
}

const dimensionSchema = z.object({
  name: z.string(),
  variant: z.string().describe('Which instance of it; empty when there is only one.'),
  status: z.enum(['true', 'false']).describe('Whether an action is needed.'),
  pending_until: time.nullable().describe('Put off until then.'),
  note: z.string().nullable(),
})

export const workItemCoreSchema = z.object(core).meta({ id: 'WorkItemCore' })
export const listedWorkItemSchema = z.object({ ...core, ...presentation }).meta({ id: 'ListedWorkItem' })
export const workItemSchema = z
  .object({ ...core, ...presentation, dimensions: z.array(dimensionSchema) })
  .meta({ id: 'WorkItem' })

export const outcomeSchema = z.enum(['created', 'unchanged', 'updated', 'retried'])

export const submitAnswerSchema = z
  .object({
    outcome: outcomeSchema.describe('What the submission did; unchanged means that it was already known exactly so.'),
    work_item: workItemCoreSchema,
  })
  .meta({ id: 'SubmitAnswer' })

export const listAnswerSchema = z
  .object({
    items: z.array(listedWorkItemSchema).describe('Newest first.'),
    next: z
      .uuid()
      .nullable()
      .describe(
        'Send it as `before` to get the next page; null on the last one. A page with a next may be short, or empty.',
      ),
  })
  .meta({ id: 'ListAnswer' })

export type WorkItemCore = z.infer<typeof workItemCoreSchema>
export type ListedWorkItem = z.infer<typeof listedWorkItemSchema>
export type WorkItemView = z.infer<typeof workItemSchema>
export type SubmitAnswer = z.infer<typeof submitAnswerSchema>
export type ListAnswer = z.infer<typeof listAnswerSchema>
