/**
 * What is in a message of the queue of events. SNS puts its own envelope around a body unless it is told to deliver it raw,
 * and the body alone says which: settings of a subscription change without anybody telling the service.
 */
import { z } from 'zod'
import { parseJson } from '../lib/json-input.ts'

export type MessageBody =
  | { readonly kind: 'body'; readonly body: unknown }
  /** No JSON object: nobody can tell what it was meant to be. `reason` holds nothing of its content. */
  | { readonly kind: 'unreadable'; readonly reason: string }

const envelopeSchema = z.looseObject({
  Type: z.literal('Notification'),
  TopicArn: z.string(),
  Message: z.string(),
})

export function readMessageBody(text: string): MessageBody {
  const outer = parseObject(text)
  if (outer === null) return { kind: 'unreadable', reason: 'the message is not a JSON object' }
  const envelope = envelopeSchema.safeParse(outer)
  if (!envelope.success) return { kind: 'body', body: outer }
  const inner = parseObject(envelope.data.Message)
  if (inner === null) return { kind: 'unreadable', reason: 'the SNS envelope does not hold a JSON object' }
  return { kind: 'body', body: inner }
}

function parseObject(text: string): object | null {
  try {
    const value = parseJson(Buffer.from(text))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}
