/**
 * Why a token gets the rights that it gets, rule by rule: for operators who hold the token and the configuration. It decides
 * nothing: whether the token is good is asked of the same authenticator as in the service, and what a rule misses is found
 * with the same comparison. The token is in no answer; of its claims only those that a rule asks for.
 */
import type { Authentication, RefusalReason } from './authentication.ts'
import { type AuthenticatorOptions, createAuthenticator } from './authenticator.ts'
import { claimAt, unmetConditions } from './claim-matching.ts'
import type { AuthConfig } from './config.ts'
import { CLUSTER_ISSUER } from './issuer-url.ts'
import { looksLikeJwt, readUnverifiedJwt, unverifiedClaims } from './jwt-shape.ts'
import { isOpenShiftToken } from './openshift.ts'
import type { AuthRule } from './rule-config.ts'
import { isStaticToken } from './token.ts'
import { IdentityProviderUnavailable, systemClock } from './unavailable.ts'

export interface ExplainedRule {
  readonly name: string
  readonly matches: boolean
  /** Sentences; what keeps it from matching, or, where it matches, nothing. */
  readonly reasons: readonly string[]
}

export interface Explanation {
  /** null: refused, or nobody could say. */
  readonly caller: string | null
  readonly refusal: { readonly reason: RefusalReason; readonly message: string } | null
  /** Who could not be asked, and why. */
  readonly unavailable: string | null
  readonly rules: readonly ExplainedRule[]
}

export async function explainToken(
  config: AuthConfig,
  token: string,
  options: AuthenticatorOptions = {},
): Promise<Explanation> {
  const { authentication, unavailable } = await authenticate(config, token, options)
  const now = (options.clock ?? systemClock).now()
  return {
    caller: authentication?.identity?.name ?? null,
    refusal: authentication?.identity === null ? refusalOf(authentication.reason) : null,
    unavailable,
    rules: explainRules(config.rules, token, authentication, now),
  }
}

async function authenticate(
  config: AuthConfig,
  token: string,
  options: AuthenticatorOptions,
): Promise<{ readonly authentication: Authentication | null; readonly unavailable: string | null }> {
  const authenticator = createAuthenticator(config, options)
  try {
    return { authentication: await authenticator.authenticate([`Bearer ${token}`]), unavailable: null }
  } catch (error) {
    if (!(error instanceof IdentityProviderUnavailable)) throw error
    return { authentication: null, unavailable: `${error.facts['provider']}: ${error.facts['reason']}` }
  } finally {
    authenticator.stop()
  }
}

const REFUSALS: Readonly<Record<RefusalReason, string>> = {
  missing: 'there is none',
  duplicated_header: 'it came twice',
  malformed: 'it is nothing that the service takes for a token',
  unknown_token: 'nobody knows it: no rule has its digest, or the cluster says that it is not good',
  unknown_issuer: 'no rule names its issuer (compared to the last slash)',
  algorithm_not_allowed: 'it is signed in a way that its issuer may not use here (auth.issuers[].algorithms)',
  expired: 'it has expired, or the rule that knows it has',
  not_yet_valid: 'it is not valid yet; compare the clocks',
  lives_too_long: 'it lives, or has lived, longer than auth.issuers[].max_lifetime',
  bad_claims: 'a claim that every token must have (exp, iat, sub, aud) is missing or makes no sense',
  bad_signature: 'its signature does not fit the keys of its issuer',
  foreign_audience: 'it is meant for another service: no rule of its issuer has its aud',
  nameless: 'its owner has no name that could be stored',
}

function refusalOf(reason: RefusalReason): Explanation['refusal'] {
  return { reason, message: REFUSALS[reason] }
}

/** `authentication`: what the authenticator said of the token; null: it could not say. */
function explainRules(
  rules: readonly AuthRule[],
  token: string,
  authentication: Authentication | null,
  now: Date,
): readonly ExplainedRule[] {
  const granted = new Set(authentication?.identity?.grants.map(({ rule }) => rule))
  return rules.map((rule) => {
    const matches = granted.has(rule.name)
    return { name: rule.name, matches, reasons: matches ? [] : reasonsAgainst(rule, token, authentication, now) }
  })
}

function reasonsAgainst(
  rule: AuthRule,
  token: string,
  authentication: Authentication | null,
  now: Date,
): readonly string[] {
  const expired = rule.expires_at !== undefined && rule.expires_at <= now ? ['the rule has expired'] : []
  if (rule.token_sha256 !== undefined) {
    if (!isStaticToken(token)) return ['it is for a static token, and this is none', ...expired]
    return authentication !== null && authentication.identity === null && authentication.rules.includes(rule.name)
      ? expired
      : ['it knows another static token: the digest differs']
  }
  if (rule.groups !== undefined) {
    if (!isOpenShiftToken(token)) return ['it is for users of OpenShift, and this is no token of theirs', ...expired]
    return authentication?.identity
      ? [`the user is in none of its groups (${rule.groups.join(', ')})`, ...expired]
      : expired
  }
  return [...reasonsOfIssuer(rule, token), ...expired]
}

function reasonsOfIssuer({ issuer = '', claims = {} }: AuthRule, token: string): readonly string[] {
  const unverified = looksLikeJwt(token) ? readUnverifiedJwt(token) : null
  if (unverified === null) return ['it is for a signed token (JWT), and this is none that an issuer makes']
  // What the cluster calls itself is known only there; the comparison of claims still says something.
  if (issuer !== CLUSTER_ISSUER && unverified.issuer !== issuer) {
    return [`it is for tokens of ${issuer}, and this one is of ${shown(unverified.issuer)}`]
  }
  const present = unverifiedClaims(token)
  return unmetConditions(claims, present).map((claim) => {
    const wanted = (claims[claim] ?? []).map((value) => JSON.stringify(value)).join(' or ')
    return `the claim ${claim} has to be ${wanted}, and is ${shown(claimAt(present, claim))}`
  })
}

const MAX_SHOWN = 120

function shown(value: unknown): string {
  if (value === undefined) return 'missing'
  const text = JSON.stringify(value)
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}
