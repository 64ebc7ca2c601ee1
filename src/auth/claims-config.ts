/**
 * The `claims` of a rule, read strictly: what cannot match as it is written, or would match more than it says, is a fault
 * of the file. A rule has to say for whom a token is meant (`aud`) and whose it is. The first is not enough anywhere: the
 * author of a job chooses its audience, and on a shared issuer everybody is the author of a job.
 */
import { z } from 'zod'
import {
  type ClaimConditions,
  comparable,
  MAX_LIST_LENGTH,
  MAX_VALUE_LENGTH,
  pointerSegments,
} from './claim-matching.ts'

/** Where strangers get tokens as easily as we do. */
const SHARED_ISSUERS = [
  'https://gitlab.com',
  'https://token.actions.githubusercontent.com',
  'https://accounts.google.com',
]

/** Claims that tell what a token is for, or in what circumstances it was made, but not whose it is. */
const SAYS_NOT_WHO = new Set([
  ...['iss', 'aud', 'exp', 'nbf', 'iat', 'jti', 'typ', 'azp', 'nonce', 'acr', 'amr', 'auth_time', 'at_hash', 'sid'],
  ...['scope', 'scp', 'email_verified', 'locale', 'sha', 'ref', 'ref_type', 'ref_path', 'ref_protected'],
  ...['pipeline_id', 'pipeline_source', 'job_id', 'job_source', 'runner_id', 'runner_environment', 'ci_config_sha'],
  ...['environment', 'environment_protected', 'environment_action', 'deployment_tier', 'project_visibility'],
  ...['user_access_level', 'base_ref', 'head_ref', 'event_name', 'run_id', 'run_number', 'run_attempt', 'workflow'],
  // Whoever calls a reusable workflow has its name in the token.
  ...['workflow_sha', 'job_workflow_ref', 'job_workflow_sha', 'check_run_id', 'repository_visibility'],
])

/** Of a service account, the name alone: every namespace may have one of that name. */
const SAYS_NOT_WHO_POINTER = /^\/kubernetes\.io\/(serviceaccount\/name|pod\/|node\/|warnafter)/

export const claimsSchema = z.unknown().transform((input, context): ClaimConditions => {
  const refuse = (path: readonly string[], message: string) =>
    context.addIssue({ code: 'custom', path: [...path], message, input })
  if (!isRecord(input)) {
    refuse([], "claims must name claims of the token and their values, such as aud: workqueue, project_id: '42'")
    return z.NEVER
  }
  const conditions: [string, readonly string[]][] = []
  for (const [claim, value] of Object.entries(input)) {
    const fault = faultOfClaim(claim) ?? faultOfValues(value)
    if (fault === null) conditions.push([claim, listOf(value).map((item) => comparable(item) ?? '')])
    else refuse([claim], `the claim ${JSON.stringify(claim.slice(0, 60))} ${fault}`)
  }
  return Object.fromEntries(conditions)
})

/** Whole sentences without a subject: `has no aud …`; empty when the conditions say enough. */
export function faultsOfConditions(issuer: string, conditions: ClaimConditions): readonly string[] {
  const faults: string[] = []
  if (!Object.hasOwn(conditions, 'aud')) {
    faults.push(
      'has no aud among its claims, so a token that somebody gave to another service would open this one; ' +
        'add aud with the audience that callers ask their issuer for',
    )
  }
  if (!Object.keys(conditions).some(saysWho)) {
    faults.push(
      `says what a token is meant for, but not whose it is: ${strangers(issuer)} would match; ` +
        `add a claim that names the caller, such as ${EXAMPLES[issuer === 'k8s' ? 'k8s' : 'other']}`,
    )
  }
  return faults
}

const EXAMPLES = {
  k8s: 'sub: system:serviceaccount:NAMESPACE:NAME',
  other: "sub, or project_id: '42' for GitLab, repository_id: '42' for GitHub",
}

function strangers(issuer: string): string {
  return SHARED_ISSUERS.includes(issuer)
    ? `${issuer} is shared by all the world, and anybody there`
    : 'whoever can get a token from this issuer'
}

function saysWho(claim: string): boolean {
  const [first = '', ...others] = pointerSegments(claim)
  return others.length === 0 ? !SAYS_NOT_WHO.has(first) : !SAYS_NOT_WHO_POINTER.test(claim)
}

function faultOfClaim(claim: string): string | null {
  if (claim === '' || claim.length > MAX_VALUE_LENGTH) return 'has no name that a claim can have'
  if (claim === '__proto__') return 'cannot be matched'
  if (!claim.startsWith('/')) return null
  if (/~(?![01])/.test(claim)) return 'is a JSON pointer (it begins with /) in which ~ must be written ~0, and / as ~1'
  return pointerSegments(claim).includes('') ? 'is a JSON pointer (it begins with /) with an empty name in it' : null
}

function faultOfValues(value: unknown): string | null {
  const items = listOf(value)
  if (items.length === 0) return 'has an empty list of values, which no token could match'
  if (items.length > MAX_LIST_LENGTH) return `has more than ${MAX_LIST_LENGTH} values`
  return items.map(faultOfValue).find((fault) => fault !== null) ?? null
}

function faultOfValue(value: unknown): string | null {
  if (value === '') return 'has an empty value, which no token could match'
  if (comparable(value) !== null) return null
  if (typeof value === 'number') return 'has a number that is no exact integer; write it in quotes'
  if (typeof value === 'string')
    return `has a text that is longer than ${MAX_VALUE_LENGTH} characters or not well-formed`
  return 'must have a text, an integer, true or false, or a list of these'
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
