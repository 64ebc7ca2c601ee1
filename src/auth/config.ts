/**
 * The `auth` slice of the configuration: one list of rules, each mapping a remote identity to local permissions. A rule
 * names a static token by its SHA-256, so that the file holds nothing that opens a door. Nobody without a rule has any
 * right, and a rule that says nothing is refused rather than read as "all".
 */
import { z } from 'zod'
import { PERMISSIONS } from './identity.ts'

const HOW_TO_MAKE_A_TOKEN =
  'Run `wq token`, which prints a token and this line; or make one by hand: ' +
  "TOKEN=wq_$(openssl rand -base64 32 | tr '+/' '-_' | tr -d '=') and then printf %s \"$TOKEN\" | sha256sum"

const ruleSchema = z.strictObject({
  name: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
      'a rule name has 1 to 63 letters, digits, dots, dashes or underscores; it names the caller in the audit',
    ),
  token_sha256: z
    .string({
      error: `a rule needs token_sha256, the SHA-256 of its token as 64 hexadecimal digits. ${HOW_TO_MAKE_A_TOKEN}`,
    })
    .regex(
      /^[0-9a-f]{64}$/,
      `token_sha256 must be 64 lower-case hexadecimal digits, never the token itself. ${HOW_TO_MAKE_A_TOKEN}`,
    ),
  expires_at: z.iso
    .datetime({ offset: true, error: 'expires_at must be a time such as 2027-01-31T00:00:00Z' })
    .transform((text) => new Date(text))
    .optional(),
  permissions: z.array(z.enum(PERMISSIONS)).min(1, `a rule needs at least one permission of ${PERMISSIONS.join(', ')}`),
  item_types: z
    .union([z.literal('*'), z.array(z.string().min(1)).min(1)], {
      error: "item_types must be '*' or a list of at least one item type",
    })
    .default('*'),
})

export const authConfigSchema = z.strictObject({
  rules: z
    .array(ruleSchema)
    .min(1, `auth.rules must hold at least one rule, or nobody can use the service. ${HOW_TO_MAKE_A_TOKEN}`)
    .superRefine((rules, context) => {
      for (const key of ['name', 'token_sha256'] as const) {
        rules.forEach((rule, index) => {
          const first = rules.findIndex((other) => other[key] === rule[key])
          if (first === index) return
          context.addIssue({
            code: 'custom',
            path: [index, key],
            message: `rules ${first + 1} and ${index + 1} have the same ${key}; each needs its own`,
          })
        })
      }
    }),
})

export type AuthRule = z.output<typeof ruleSchema>
export type AuthConfig = z.output<typeof authConfigSchema>
