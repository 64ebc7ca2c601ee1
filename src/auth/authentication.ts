/** What became of an attempt to find out who is calling, and what the rules that matched give. */
import type { Grant, Identity } from './identity.ts'
import { createLimit } from './limit.ts'
import type { AuthRule } from './rule-config.ts'
import type { JwtRefusal } from './verify-jwt.ts'

/** For log and audit. The caller is told the same for every cause. */
export type RefusalReason =
  | 'missing'
  | 'duplicated_header'
  | 'malformed'
  | 'unknown_token'
  | 'unknown_issuer'
  | 'algorithm_not_allowed'
  | JwtRefusal
  /** Signed by an issuer of ours, for somebody else. */
  | 'foreign_audience'
  /** Its owner has no name that could be stored and shown. */
  | 'nameless'

/** An identity without grants is somebody whom no rule knows: a good token without a right. */
export type Authentication =
  | { readonly identity: Identity }
  | { readonly identity: null; readonly reason: RefusalReason; readonly rules: readonly string[] }

export function refuse(reason: RefusalReason, rules: readonly string[] = []): Authentication {
  return { identity: null, reason, rules }
}

/** A rule in use: what it gives is made once, not for every request. */
export interface ActiveRule {
  readonly rule: AuthRule
  readonly grant: Grant
}

export function activate(rule: AuthRule): ActiveRule {
  const { name, permissions, item_types: itemTypes, projects, branches, paths } = rule
  const grant = {
    rule: name,
    permissions,
    itemTypes,
    ...(projects === undefined ? {} : { projects: createLimit(projects, { nocase: true }) }),
    ...(branches === undefined ? {} : { branches: createLimit(branches, { nocase: false }) }),
    ...(paths === undefined ? {} : { paths: createLimit(paths, { nocase: false }) }),
  }
  return { rule, grant }
}

export function isExpired({ rule }: ActiveRule, now: Date): boolean {
  return rule.expires_at !== undefined && rule.expires_at <= now
}
