/**
 * What arrives from outside, as configured: `webhook`, without which the webhook does not exist, and `events`, without which
 * no queue of events is read.
 */
import { z } from 'zod'
import { durationSchema } from '../lib/duration.ts'

const MIN_SECRET_LENGTH = 16

export const webhookConfigSchema = z.strictObject({
  secret: z
    .string({ error: 'webhook.secret is the text that GitLab has to send along; make one with `openssl rand -hex 32`' })
    .min(
      MIN_SECRET_LENGTH,
      `webhook.secret must have at least ${MIN_SECRET_LENGTH} characters; make one with \`openssl rand -hex 32\``,
    )
    .refine(
      (secret) => !secret.startsWith('whsec_') || /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(secret),
      'webhook.secret starts with whsec_ but is not a signing token of GitLab; copy the whole token',
    ),
})

const SHORTEST_MS = 5_000
/** The limit of SQS. */
const LONGEST_MS = 12 * 60 * 60_000

export const eventsConfigSchema = z.strictObject({
  /** Of the SQS queue. Region, credentials and endpoint come from the environment, as for every program with the AWS SDK. */
  queue_url: z
    .string({ error: 'events.queue_url is the address of the SQS queue' })
    .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
      error:
        'events.queue_url must be the address of an SQS queue, such as https://sqs.eu-west-1.amazonaws.com/123456789012/events',
    }),
  /** Batches of ten messages that are read and stored at a time. */
  receivers: z.int().min(1).max(20).default(2),
  /** How long a message that a crashed process had received stays away; while one is worked on, it is extended. */
  visibility_timeout: durationSchema
    .refine((ms) => ms >= SHORTEST_MS && ms <= LONGEST_MS, 'it must lie between 5s and 12h')
    .prefault('60s'),
})

export type EventsConfig = z.infer<typeof eventsConfigSchema>
