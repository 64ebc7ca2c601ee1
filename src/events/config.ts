/**
 * The `webhook` slice of the configuration. Without it the webhook does not exist.
 */
import { z } from 'zod'

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
