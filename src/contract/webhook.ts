/**
 * What the webhook answers; GitLab shows it in the list of recent deliveries.
 */
import { z } from 'zod'

export const webhookAnswerSchema = z
  .object({ work_items: z.array(z.uuid()).describe('Whom the event concerns; empty when nobody.') })
  .meta({ id: 'WebhookAnswer' })
