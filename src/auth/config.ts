/**
 * The `auth` slice of the configuration: one list of rules, and what there is to say about the identity providers that the
 * rules name. Nobody without a rule has any right. Issuers need no entry of their own: every default is the strict one.
 */
import { z } from 'zod'
import { durationSchema } from '../lib/duration.ts'
import { issuerSchema, providerUrlSchema } from './issuer-url.ts'
import { type AuthRule, HOW_TO_MAKE_A_TOKEN, ruleSchema } from './rule-config.ts'

/** Asymmetric ones only: with a shared secret, whoever can check a token can make one. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const

const issuerEntrySchema = z.strictObject({
  /** As in the rules. */
  issuer: issuerSchema,
  /** How callers of this issuer are called in audit and items; by default its host and path. */
  alias: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/, 'an alias has letters, digits, dots, dashes, underscores and slashes')
    .optional(),
  algorithms: z.array(z.enum(ALGORITHMS)).min(1).prefault(['RS256', 'ES256', 'ES384']),
  /** Tokens that live or lived longer are refused. */
  max_lifetime: durationSchema.prefault('24h'),
  /** Certificates (PEM) that the provider's own must descend from, in place of the system's. */
  ca_file: z.string().min(1).optional(),
})

const openshiftSchema = z
  .strictObject({
    /** The API of the cluster whose users may call; by default the cluster that the service runs in. */
    api_url: providerUrlSchema.optional(),
    ca_file: z.string().min(1).optional(),
  })
  .refine(({ api_url, ca_file }) => ca_file === undefined || api_url !== undefined, {
    error: 'ca_file goes with api_url; the cluster that the service runs in brings its own certificate',
    path: ['ca_file'],
  })

/** Where the login bridge listens, for the proxy beside the service alone (decision 0027). */
const meSchema = z.strictObject({
  host: z
    .enum(['127.0.0.1', '::1'], { error: 'expected 127.0.0.1 or ::1: only the proxy on this machine may reach it' })
    .default('127.0.0.1'),
  /** 0 = any free port. */
  port: z.int().min(0).max(65_535).default(8081),
})

export const authConfigSchema = z
  .strictObject({
    rules: z
      .array(ruleSchema)
      .min(1, `auth.rules must hold at least one rule, or nobody can use the service. ${HOW_TO_MAKE_A_TOKEN}`)
      .superRefine((rules, context) => {
        for (const key of ['name', 'token_sha256'] as const) {
          for (const { first, index } of repeated(rules.map((rule) => rule[key]))) {
            const message = `rules ${first + 1} and ${index + 1} have the same ${key}; each needs its own`
            context.addIssue({ code: 'custom', path: [index, key], message })
          }
        }
      }),
    issuers: z.array(issuerEntrySchema).prefault([]),
    openshift: openshiftSchema.prefault({}),
    /** Absent: there is no login bridge. */
    me: meSchema.optional(),
  })
  .superRefine(({ rules, issuers, me }, context) => {
    if (me !== undefined && rules.every(({ groups }) => groups === undefined)) {
      const message =
        'the login bridge hands out tokens of OpenShift, but no rule has groups, so they would open nothing'
      context.addIssue({ code: 'custom', path: ['me'], message })
    }
    const used = new Set(rules.map((rule) => rule.issuer))
    issuers.forEach(({ issuer }, index) => {
      if (used.has(issuer)) return
      const message = 'no rule has this issuer; both must be spelt the same, to the last slash'
      context.addIssue({ code: 'custom', path: ['issuers', index, 'issuer'], message })
    })
    for (const { index } of repeated(issuers.map(({ issuer }) => issuer))) {
      context.addIssue({
        code: 'custom',
        path: ['issuers', index, 'issuer'],
        message: 'this issuer has an entry already',
      })
    }
    const settled = settleIssuers({ rules, issuers })
    for (const { first, index } of repeated(settled.map(({ alias }) => alias))) {
      const pair = `${settled[first]?.issuer} and ${settled[index]?.issuer}`
      const message = `the callers of ${pair} would have the same names; give one of them an alias under issuers`
      context.addIssue({ code: 'custom', path: ['issuers'], message })
    }
  })

type IssuerEntry = z.output<typeof issuerEntrySchema>

export interface IssuerSettings extends IssuerEntry {
  readonly alias: string
  readonly rules: readonly AuthRule[]
}

/** Every issuer that rules name, with its rules and what the file says about it. */
export function settleIssuers({ rules, issuers }: Pick<AuthConfig, 'rules' | 'issuers'>): readonly IssuerSettings[] {
  const named = new Set(rules.flatMap(({ issuer }) => (issuer === undefined ? [] : [issuer])))
  return [...named].map((issuer) => {
    const entry = issuers.find((other) => other.issuer === issuer) ?? issuerEntrySchema.parse({ issuer })
    return {
      ...entry,
      alias: entry.alias ?? defaultAlias(issuer),
      rules: rules.filter((rule) => rule.issuer === issuer),
    }
  })
}

function defaultAlias(issuer: string): string {
  return issuer.replace(/^https?:\/\//, '').replaceAll(/[^A-Za-z0-9._/-]/g, '-')
}

function repeated(
  values: readonly (string | undefined)[],
): readonly { readonly first: number; readonly index: number }[] {
  return values.flatMap((value, index) => {
    const first = values.indexOf(value)
    return value === undefined || first === index ? [] : [{ first, index }]
  })
}

export type AuthConfig = {
  readonly rules: readonly AuthRule[]
  readonly issuers: readonly IssuerEntry[]
  readonly openshift: z.output<typeof openshiftSchema>
  readonly me?: z.output<typeof meSchema> | undefined
}
export type { AuthRule } from './rule-config.ts'
