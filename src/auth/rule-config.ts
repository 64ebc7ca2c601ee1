/**
 * A rule: a remote identity on one side, local permissions on the other. The identity is said in exactly one way: by
 * groups of OpenShift, by an issuer and claims, or by the digest of a static token. A rule that says nothing, or nearly
 * nothing, is refused rather than read as "all". Decisions 0021 to 0023.
 */
import { z } from 'zod'
import { claimsSchema, faultsOfConditions } from './claims-config.ts'
import { PERMISSIONS } from './identity.ts'
import { issuerSchema } from './issuer-url.ts'
import { faultOfLimit } from './limit.ts'

export const HOW_TO_MAKE_A_TOKEN =
  'Run `wq token`, which prints a token and this line; or make one by hand: ' +
  "TOKEN=wq_$(openssl rand -base64 32 | tr '+/' '-_' | tr -d '=') and then printf %s \"$TOKEN\" | sha256sum"

/** Groups that everybody is in who can log in at all. */
const EVERYBODY = /^\s*system:(authenticated|unauthenticated|serviceaccounts)(:|\s*$)/i

const groupSchema = z
  .string()
  .min(1, 'a group must not be empty')
  .max(256)
  .refine((group) => !EVERYBODY.test(group), {
    error:
      'this group holds everybody who can log in, or every program of the cluster; name a group that somebody chose',
  })

const limitSchema = (name: string, example: string) =>
  z
    .array(
      z.string().check((context) => {
        const fault = faultOfLimit(context.value)
        if (fault === null) return
        context.issues.push({ code: 'custom', input: context.value, message: `a pattern of ${name} ${fault}` })
      }),
      { error: `${name} must be a list of patterns such as ${example}` },
    )
    .min(1, `${name} must hold at least one pattern; leave it out to limit nothing`)
    .max(256)
    .optional()

export const ruleSchema = z
  .strictObject({
    name: z
      .string()
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
        'a rule name has 1 to 63 letters, digits, dots, dashes or underscores; it names the caller in the audit',
      ),
    /** Members of any of these groups of OpenShift; compared exactly. */
    groups: z.array(groupSchema).min(1, 'groups must hold at least one group').max(256).optional(),
    /** Whose signature; `k8s` is the cluster the service runs in. */
    issuer: issuerSchema.optional(),
    /** All must hold; of a list of values, one. */
    claims: claimsSchema.optional(),
    token_sha256: z
      .string({ error: `token_sha256 must be 64 hexadecimal digits. ${HOW_TO_MAKE_A_TOKEN}` })
      .regex(
        /^[0-9a-f]{64}$/,
        `token_sha256 must be 64 lower-case hexadecimal digits, never the token itself. ${HOW_TO_MAKE_A_TOKEN}`,
      )
      .optional(),
    /** From then on the rule gives nothing. */
    expires_at: z.iso
      .datetime({ offset: true, error: 'expires_at must be a time such as 2027-01-31T00:00:00Z' })
      .transform((text) => new Date(text))
      .optional(),
    permissions: z
      .array(z.enum(PERMISSIONS))
      .min(1, `a rule needs at least one permission of ${PERMISSIONS.join(', ')}`),
    item_types: z
      .union([z.literal('*'), z.array(z.string().min(1)).min(1)], {
        error: "item_types must be '*' or a list of at least one item type",
      })
      .default('*'),
    /** Full paths of projects; case is ignored. */
    projects: limitSchema('projects', 'group/project or group/**'),
    /** Source branches; case counts. */
    branches: limitSchema('branches', 'updates/**'),
    /** Files that a submission may touch; case counts. */
    paths: limitSchema('paths', 'docs/**'),
  })
  .superRefine((rule, context) => {
    for (const fault of faultsOfRule(rule)) {
      context.addIssue({ code: 'custom', message: `the rule "${rule.name}" ${fault}` })
    }
  })

interface IdentityKeys {
  readonly groups?: readonly string[] | undefined
  readonly issuer?: string | undefined
  readonly claims?: Readonly<Record<string, readonly string[]>> | undefined
  readonly token_sha256?: string | undefined
}

function faultsOfRule({ groups, issuer, claims, token_sha256 }: IdentityKeys): readonly string[] {
  const kinds = [groups, issuer ?? claims, token_sha256].filter((key) => key !== undefined)
  if (kinds.length === 0) {
    return [`is for nobody: give it one of groups, issuer with claims, or token_sha256. ${HOW_TO_MAKE_A_TOKEN}`]
  }
  if (kinds.length > 1) {
    return ['names callers in more than one way; of groups, issuer with claims, and token_sha256 it may have one']
  }
  if (issuer === undefined && claims === undefined) return []
  if (issuer === undefined) return ['has claims but no issuer: say whose signature the tokens must have']
  if (claims === undefined) return ['has an issuer but no claims, so any token of that issuer would match; add claims']
  return faultsOfConditions(issuer, claims)
}

export type AuthRule = z.output<typeof ruleSchema>
