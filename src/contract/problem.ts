/**
 * The problem document (RFC 9457), the one shape of every error this service answers with. Programs switch on `code`,
 * which never changes; people read `detail` and `findings`.
 */
import { z } from 'zod'

export const PROBLEM_MEDIA_TYPE = 'application/problem+json'

export const findingSchema = z
  .object({
    code: z.string().describe('Stable name of what is wrong.'),
    path: z.string().describe('JSON pointer to the place in what was sent; empty for the whole of it.'),
    message: z.string().describe('What is wrong, and what to do.'),
  })
  .meta({ id: 'Finding' })

export const problemSchema = z
  .object({
    type: z.string().describe('Where this kind of problem is explained, relative to the service.'),
    title: z.string().describe('What this kind of problem is called.'),
    status: z.number().int().describe('The HTTP status, repeated.'),
    detail: z.string().describe('What happened here, and what to do next.'),
    code: z.string().describe('Stable name of the problem; programs switch on it.'),
    instance: z.string().optional().describe('The path that was asked for.'),
    request_id: z.string().describe('Names this request in the log of the service.'),
    findings: z.array(findingSchema).describe('Everything that is wrong with what was sent, at once.'),
  })
  .meta({ id: 'Problem' })

export type Problem = z.infer<typeof problemSchema>
