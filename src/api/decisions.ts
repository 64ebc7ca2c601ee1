/**
 * Decides what a caller may do, and writes every decision, either way, into the audit with the names of the rules that made
 * it. The token itself comes nowhere near.
 */
import type { Audit } from '../audit/entry.ts'
import { allowingRules, type Identity, type Permission, type Scope } from '../auth/identity.ts'
import { WorkQueueError } from '../lib/errors.ts'
import { shortened } from './problem.ts'

export interface Decisions {
  /** @throws WorkQueueError `permission_denied`. */
  demand(about: Asking, permission: Permission, scope: Scope): void
  /** Answers, where `demand` throws. */
  ask(about: Asking, permission: Permission, scope: Scope): boolean
  /** null: what was asked for takes no permission. */
  record(requestId: string, permission: Permission | null, decision: Decision): void
}

export interface Asking {
  readonly requestId: string
  readonly identity: Identity
  readonly workItemId?: string
}

export interface Decision {
  /** Absent: nobody knows who it is. */
  readonly identity?: Identity
  readonly rules: readonly string[]
  readonly scope?: Scope
  readonly workItemId?: string
  /** The code of the refusal; absent = allowed. */
  readonly refusal?: string
  /** Why, for the audit only. */
  readonly reason?: string
}

export function createDecisions(audit: Audit): Decisions {
  function record(requestId: string, permission: Permission | null, decision: Decision): void {
    const { identity, rules, scope, workItemId, refusal, reason } = decision
    audit.record({
      event_type: 'auth',
      action: permission ?? 'whoami',
      outcome: refusal === undefined ? 'allowed' : 'denied',
      request_id: requestId,
      ...(identity === undefined ? {} : { caller: identity.name }),
      ...(scope === undefined ? {} : { item_type: scope.itemType }),
      ...(workItemId === undefined ? {} : { work_item_id: workItemId }),
      ...(refusal === undefined ? {} : { error_code: refusal }),
      facts: {
        rules,
        ...(scope?.project === undefined ? {} : { project: shortened(scope.project) }),
        ...(scope?.sourceBranch === undefined ? {} : { branch: shortened(scope.sourceBranch) }),
        ...identity?.facts,
        ...(reason === undefined ? {} : { reason }),
      },
    })
  }

  function ask({ requestId, identity, workItemId }: Asking, permission: Permission, scope: Scope): boolean {
    const rules = allowingRules(identity, permission, scope)
    const about = { identity, scope, ...(workItemId === undefined ? {} : { workItemId }) }
    if (rules.length > 0) record(requestId, permission, { ...about, rules })
    else record(requestId, permission, { ...about, rules: rulesOf(identity), refusal: 'permission_denied' })
    return rules.length > 0
  }

  return {
    record,
    ask,
    demand(about, permission, scope) {
      if (!ask(about, permission, scope)) throw permissionDenied(permission, nameOf(scope))
    },
  }
}

/** All rules that matched the caller. */
export function rulesOf({ grants }: Identity): readonly string[] {
  return grants.map(({ rule }) => rule)
}

export function permissionDenied(permission: Permission, where: string): WorkQueueError {
  return new WorkQueueError(
    'permission_denied',
    `Your token lacks the permission "${permission}" for ${where}; ask the operator for a rule that grants it.`,
  )
}

/** For the caller's own eyes: it has named all of it. */
function nameOf({ itemType, project, sourceBranch, paths }: Scope): string {
  const parts = [
    ...(project === undefined ? [] : [`project ${shortened(project)}`]),
    ...(sourceBranch === undefined ? [] : [`branch ${shortened(sourceBranch)}`]),
    ...(paths === undefined ? [] : ['these files']),
  ]
  return parts.length === 0 ? `items of type ${itemType}` : `${parts.join(', ')} (${itemType})`
}
