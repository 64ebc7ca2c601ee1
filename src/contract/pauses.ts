/**
 * Pauses as the REST API takes and shows them: what an operator holds, and why. A pause of nothing in particular is one of
 * everything, and has to be asked for in so many words.
 */
import { z } from 'zod'

const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine(
      (value) => value.isWellFormed() && !/\p{Cc}/u.test(value),
      'must be well-formed text without control characters',
    )

const scope = {
  item_type: text(100).optional().describe('Items of this type.'),
  concurrency_key: text(1_024)
    .optional()
    .describe('Items of this key: of an mr, the full path of its project. Any case.'),
  caller: text(512).optional().describe('Items of this caller, by the exact name that items and audit show.'),
}

export const pauseRequestSchema = z
  .strictObject({
    ...scope,
    everything: z.literal(true).optional().describe('In place of all of the above: everything.'),
    reason: text(500).describe('Shown to whoever waits.'),
  })
  .refine(({ item_type, concurrency_key, caller, everything }) => {
    return (everything ?? false) === [item_type, concurrency_key, caller].every((given) => given === undefined)
  }, 'name an item_type, a concurrency_key, a caller, or several of them; or send everything: true, and none of them')

export const pauseParamsSchema = z.strictObject({ id: z.uuid().describe('The id of a pause.') })

export const pauseSchema = z
  .object({
    id: z.uuid(),
    item_type: z.string().nullable().describe('null = any.'),
    concurrency_key: z.string().nullable().describe('null = any.'),
    caller: z.string().nullable().describe('null = any.'),
    reason: z.string(),
    created_by: z.string(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Pause' })

export const pausesSchema = z.object({ pauses: z.array(pauseSchema).describe('Oldest first.') }).meta({ id: 'Pauses' })

export type PauseRequest = z.input<typeof pauseRequestSchema>
export type PauseView = z.infer<typeof pauseSchema>
export type PausesView = z.infer<typeof pausesSchema>
