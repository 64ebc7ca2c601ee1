/**
 * The one place where the API decides who may do what. A route asks for a permission and gets it or throws; every
 * decision, either way, is audited with the names of the rules that made it. The token itself goes nowhere.
 */
import type { FastifyRequest } from 'fastify'
import type { Audit } from '../audit/entry.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import { allowingRules, type Identity, may, type Permission } from '../auth/identity.ts'
import { WorkQueueError } from '../lib/errors.ts'
import type { WorkItem } from '../queue/work-item.ts'

export interface Access {
  /** A hook that runs before the body is read. `permission`: whoever has it for no item type at all ends here. */
  authenticate(permission: Permission): (request: FastifyRequest) => Promise<void>
  /** The caller's name. @throws WorkQueueError `permission_denied`. */
  require(request: FastifyRequest, permission: Permission, itemType: string): string
  /** The same for one item. Whoever may not even see it is told that it does not exist. */
  requireForItem(request: FastifyRequest, permission: Permission, item: WorkItem): string
  /** Whether the caller also has this permission for items of the type; either answer is audited. */
  holds(request: FastifyRequest, permission: Permission, itemType: string): boolean
  /**
   * Whether the caller may see what the service can read outside. Any permission lets its holder see items, but not this:
   * it takes a rule that names `read` and is limited to no project or branch, for nobody asks about one here.
   */
  mayReadContents(request: FastifyRequest, itemType: string): boolean
  /** For lists: which item types the caller may `read`, or do more with; the list itself is allowed. */
  visibleTypes(request: FastifyRequest, permission?: Permission): (itemType: string) => boolean
}

export function createAccess({ authenticator, audit }: { authenticator: Authenticator; audit: Audit }): Access {
  const identities = new WeakMap<FastifyRequest, Identity>()

  function identityOf(request: FastifyRequest): Identity {
    const identity = identities.get(request)
    if (identity === undefined) throw new Error('a route asked for permission without authenticating its caller')
    return identity
  }

  function record(request: FastifyRequest, permission: Permission, decision: Decision): void {
    const { caller, rules, itemType, workItemId, refusal, reason } = decision
    audit.record({
      event_type: 'auth',
      action: permission,
      outcome: refusal === undefined ? 'allowed' : 'denied',
      request_id: request.id,
      ...(caller === undefined ? {} : { caller }),
      ...(itemType === undefined ? {} : { item_type: itemType }),
      ...(workItemId === undefined ? {} : { work_item_id: workItemId }),
      ...(refusal === undefined ? {} : { error_code: refusal }),
      facts: { rules, ...(reason === undefined ? {} : { reason }) },
    })
  }

  function decide(request: FastifyRequest, permission: Permission, itemType: string, workItemId?: string): string {
    const identity = identityOf(request)
    const rules = allowingRules(identity, permission, itemType)
    const about = { caller: identity.name, itemType, ...(workItemId === undefined ? {} : { workItemId }) }
    if (rules.length === 0) {
      record(request, permission, { ...about, rules: namesOf(identity), refusal: 'permission_denied' })
      throw permissionDenied(permission, `items of type ${itemType}`)
    }
    record(request, permission, { ...about, rules })
    return identity.name
  }

  /** Answers, where `decide` throws. */
  function ask(request: FastifyRequest, identity: Identity, permission: Permission, itemType: string): boolean {
    const rules = allowingRules(identity, permission, itemType)
    const refusal = rules.length === 0 ? { refusal: 'permission_denied' } : {}
    record(request, permission, { caller: identity.name, itemType, rules, ...refusal })
    return rules.length > 0
  }

  return {
    authenticate: (permission) => async (request) => {
      const result = await authenticator.authenticate(authorizationHeaders(request))
      if (result.identity === null) {
        const error = refusalOf(result.reason)
        record(request, permission, { rules: result.rules, refusal: error.code, reason: result.reason })
        throw error
      }
      const { identity } = result
      if (!may(identity, permission, null)) {
        const refusal = 'permission_denied'
        record(request, permission, { caller: identity.name, rules: namesOf(identity), refusal })
        throw permissionDenied(permission, 'any item type')
      }
      identities.set(request, identity)
    },
    require: decide,
    requireForItem(request, permission, item) {
      const identity = identityOf(request)
      if (may(identity, 'read', item.itemType)) return decide(request, permission, item.itemType, item.id)
      record(request, permission, {
        caller: identity.name,
        itemType: item.itemType,
        workItemId: item.id,
        rules: namesOf(identity),
        refusal: 'work_item_not_found',
      })
      throw new WorkQueueError('work_item_not_found', `There is no work item ${item.id}.`)
    },
    holds: (request, permission, itemType) => ask(request, identityOf(request), permission, itemType),
    mayReadContents(request, itemType) {
      const { name, grants } = identityOf(request)
      const readers = grants.filter(({ permissions }) => permissions.includes('read'))
      const unlimited = readers.filter(({ projects, branches }) => projects === undefined && branches === undefined)
      return ask(request, { name, grants: unlimited }, 'read', itemType)
    },
    visibleTypes(request, permission = 'read') {
      const identity = identityOf(request)
      record(request, permission, { caller: identity.name, rules: namesOf(identity) })
      return (itemType) => may(identity, permission, itemType)
    },
  }
}

interface Decision {
  readonly caller?: string
  readonly rules: readonly string[]
  readonly itemType?: string
  readonly workItemId?: string
  /** The code of the refusal; absent = allowed. */
  readonly refusal?: string
  /** Why, for the audit only. */
  readonly reason?: string
}

function namesOf(identity: Identity): readonly string[] {
  return identity.grants.map((grant) => grant.rule)
}

/** All of them, from the raw headers: Node's parsed ones hold only the first. */
function authorizationHeaders({ raw: { rawHeaders } }: FastifyRequest): readonly string[] {
  return rawHeaders.filter(
    (_value, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'authorization',
  )
}

function refusalOf(reason: string): WorkQueueError {
  if (reason === 'duplicated_header') {
    return new WorkQueueError('invalid_request', 'The Authorization header came more than once; send exactly one.')
  }
  return new WorkQueueError(
    'unauthenticated',
    'This needs a valid token: send the header "Authorization: Bearer TOKEN" with a token that the service knows.',
    { facts: { token_presented: reason !== 'missing' } },
  )
}

function permissionDenied(permission: Permission, where: string): WorkQueueError {
  return new WorkQueueError(
    'permission_denied',
    `Your token lacks the permission "${permission}" for ${where}; ask the operator for a rule that grants it.`,
  )
}
