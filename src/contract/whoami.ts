/** Who a caller is to the service, and what it may do: for whoever set up a job and wonders why it is refused. */
import { z } from 'zod'

const limit = z.array(z.string()).nullable().describe('Patterns; null = no limit.')

export const whoamiSchema = z
  .object({
    caller: z.string().describe('The name in items and audit.'),
    kind: z.enum(['token', 'jwt', 'k8s', 'openshift']).describe('What was shown: a static or a signed token, …'),
    issuer: z.string().nullable().describe('Who vouches for it; null of a static token.'),
    expires_at: z.iso.datetime().nullable().describe('When the token expires; null: never, or it does not say.'),
    rules: z
      .array(
        z.object({
          name: z.string(),
          permissions: z.array(z.string()),
          item_types: z.array(z.string()).nullable().describe('null = all.'),
          projects: limit,
          branches: limit.describe('Of source branches; null = no limit.'),
          paths: limit.describe('Of the files that a submission touches; null = no limit.'),
        }),
      )
      .describe('All rules that match; none = the token is good, and gives no right. They add up.'),
  })
  .meta({ id: 'WhoAmI' })

export type WhoAmI = z.infer<typeof whoamiSchema>
