/**
 * The one place where the API decides who may do what. A route asks for a permission and gets it or throws; every
 * decision, either way, is audited with the names of the rules that made it. The token itself goes nowhere.
 */
import type { FastifyRequest } from 'fastify'
import type { Audit } from '../audit/entry.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import { type Identity, isPermission, may, type Permission, readable, type Scope } from '../auth/identity.ts'
import { WorkQueueError } from '../lib/errors.ts'
import type { ItemScope, SubmissionScope } from '../queue/item-type.ts'
import type { WorkItem } from '../queue/work-item.ts'
import type { Rights } from '../queue/work-queue.ts'
import { createAdmission, type RateLimits } from './admission.ts'
import { type Asking, createDecisions, permissionDenied, rulesOf } from './decisions.ts'

export interface Access {
  /** A hook that runs before the body is read. `permission`: whoever has it for no item type at all ends here. */
  authenticate(permission: Permission): (request: FastifyRequest) => Promise<void>
  /** The same for what takes no permission: any caller who is known, even one that no rule gives anything. */
  identify(request: FastifyRequest): Promise<void>
  identityOf(request: FastifyRequest): Identity
  callerOf(request: FastifyRequest): string
  /** What the caller may do with what it submits: asked, and audited, once the submission has been read. */
  rightsFor(request: FastifyRequest, itemType: string): Rights
  /**
   * The caller's name, if it may do this with the item. Whoever may not even see it is told that it does not exist.
   * @throws WorkQueueError `work_item_not_found`, `permission_denied`.
   */
  requireForItem(request: FastifyRequest, permission: Permission, item: WorkItem): string
  /**
   * Whether the caller may see what the service can read outside. Any permission lets its holder see items, but not this:
   * it takes a rule that names `read`, covers the project, and is limited to no branch, for the target's is none of them.
   */
  mayReadContents(request: FastifyRequest, itemType: string): (scope: SubmissionScope) => boolean
  /** For lists, which are allowed as such: what the caller may read. */
  visibleItems(request: FastifyRequest): VisibleItems
  /**
   * The caller's name, if it may do this with everything in the scope, of every one of the types.
   * @throws WorkQueueError `permission_denied`.
   */
  requireForTypes(
    request: FastifyRequest,
    permission: Permission,
    itemTypes: readonly string[],
    scope: ItemScope,
  ): string
  /** Audits a look that takes no more than the permission that let its caller in. */
  recordRead(request: FastifyRequest, permission: Permission): void
  /** For what is about whole item types: those that the caller may do this with, without a limit. */
  typesFor(request: FastifyRequest, permission: Permission): (itemType: string) => boolean
}

export interface VisibleItems {
  /** Whether there may be any item of the type that the caller may see. */
  readonly hasAny: (itemType: string) => boolean
  readonly isVisible: (itemType: string, scope: ItemScope) => boolean
  /** Whether all items of the type are visible, so that nobody need ask for each. */
  readonly isWhole: (itemType: string) => boolean
}

export interface AccessDependencies {
  readonly authenticator: Authenticator
  readonly audit: Audit
  readonly rateLimits: RateLimits
  readonly scopeOf: (item: WorkItem) => ItemScope
}

export function createAccess({ authenticator, audit, rateLimits, scopeOf }: AccessDependencies): Access {
  const identities = new WeakMap<FastifyRequest, Identity>()
  const decisions = createDecisions(audit)
  const admit = createAdmission({ authenticator, decisions, rateLimits })

  function identityOf(request: FastifyRequest): Identity {
    const identity = identities.get(request)
    if (identity === undefined) throw new Error('a route asked for permission without authenticating its caller')
    return identity
  }

  async function know(request: FastifyRequest, permission: Permission | null): Promise<Identity> {
    const identity = await admit(request, permission)
    identities.set(request, identity)
    return identity
  }

  const asking = (request: FastifyRequest): Asking => ({ requestId: request.id, identity: identityOf(request) })

  return {
    async identify(request) {
      const identity = await know(request, null)
      decisions.record(request.id, null, { identity, rules: rulesOf(identity) })
    },
    identityOf,
    authenticate: (permission) => async (request) => {
      const identity = await know(request, permission)
      if (may(identity, permission, null)) return
      decisions.record(request.id, permission, { identity, rules: rulesOf(identity), refusal: 'permission_denied' })
      throw permissionDenied(permission, 'any item type')
    },
    callerOf: (request) => identityOf(request).name,
    rightsFor(request, itemType) {
      const about = asking(request)
      return {
        require(permission, scope) {
          if (!isPermission(permission)) throw new Error(`an item type asked for ${permission}, which nobody can have`)
          decisions.demand(about, permission, toScope(itemType, scope))
        },
        holds: (permission, scope) =>
          isPermission(permission) && decisions.ask(about, permission, toScope(itemType, scope)),
      }
    },
    requireForItem(request, permission, item) {
      const about = { ...asking(request), workItemId: item.id }
      const { identity } = about
      const scope = toScope(item.itemType, scopeOf(item))
      if (may(identity, 'read', scope)) {
        decisions.demand(about, permission, scope)
        return identity.name
      }
      const refusal = 'work_item_not_found'
      decisions.record(request.id, permission, { ...about, scope, rules: rulesOf(identity), refusal })
      throw new WorkQueueError(refusal, `There is no work item ${item.id}.`)
    },
    mayReadContents(request, itemType) {
      const about = asking(request)
      const grants = about.identity.grants.filter((grant) => grant.permissions.includes('read') && !grant.branches)
      const reader = { ...about, identity: { ...about.identity, grants } }
      return (scope) => decisions.ask(reader, 'read', toScope(itemType, scope))
    },
    visibleItems(request) {
      const { identity } = asking(request)
      decisions.record(request.id, 'read', { identity, rules: rulesOf(identity) })
      return {
        hasAny: (itemType) => readable(identity, itemType) !== 'none',
        isWhole: (itemType) => readable(identity, itemType) === 'all',
        isVisible: (itemType, scope) => may(identity, 'read', toScope(itemType, scope)),
      }
    },
    requireForTypes(request, permission, itemTypes, scope) {
      const about = asking(request)
      if (itemTypes.length === 0) throw permissionDenied(permission, 'a process that serves no item type')
      for (const itemType of itemTypes) decisions.demand(about, permission, toScope(itemType, scope))
      return about.identity.name
    },
    recordRead(request, permission) {
      const { identity } = asking(request)
      decisions.record(request.id, permission, { identity, rules: rulesOf(identity) })
    },
    typesFor(request, permission) {
      const { identity } = asking(request)
      decisions.record(request.id, permission, { identity, rules: rulesOf(identity) })
      return (itemType) => may(identity, permission, itemType)
    },
  }
}

function toScope(itemType: string, { project, branch, paths }: Partial<SubmissionScope>): Scope {
  return {
    itemType,
    ...(project === undefined ? {} : { project }),
    ...(branch === undefined ? {} : { sourceBranch: branch }),
    ...(paths === undefined ? {} : { paths }),
  }
}
