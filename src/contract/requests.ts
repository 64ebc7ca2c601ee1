/**
 * What a caller may write into paths and query strings. Bodies of submissions belong to the item types.
 */
import { z } from 'zod'
import { phaseSchema } from './work-item.ts'

const text = z
  .string()
  .min(1)
  .max(300)
  .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be well-formed text without NUL')

export const workItemParamsSchema = z.strictObject({ id: z.uuid().describe('The id of a work item.') })

export const listQuerySchema = z.strictObject({
  item_type: text.optional().describe('Only items of this type.'),
  phase: phaseSchema.optional().describe('Only items in this phase.'),
  caller: text.optional().describe('Only items of this caller.'),
  concurrency_key: text.optional().describe('Only items of this key; of an mr it is the project.'),
  search: text.optional().describe('Only items whose dedup key contains this, case ignored.'),
  limit: z.coerce.number().int().min(1).max(100).default(20).describe('How many items a page holds.'),
  before: z.uuid().optional().describe('`next` of the page before.'),
})

export type ListQuery = z.input<typeof listQuerySchema>

/** A submission as JSON; the service reads no more, and a client need not send it. */
export const MAX_SUBMISSION_BYTES = 8 * 1024 * 1024
