import type { Database } from '../../db/database.ts'
import { CHOOSE_WANTED, type ClaimOptions, claimParameters, HAS_ROOM, IS_FREE } from './choose-sql.ts'
import { type Claimed, claimWanted, runClaim } from './claim-sql.ts'
import type { ItemTypes } from './detail-sql.ts'

/**
 * Claims these items, those of them that are free and for whose key there is room. A row that another transaction has locked is skipped rather than waited
 * for: whoever holds it wakes the item after its commit, and one stuck session must not hold up the claims of others.
 */
export function createClaimWorkItems(db: Database, itemTypes: ItemTypes) {
  const text = `
    with candidates as materialized (
      select id, due_at, concurrency_key
      from work_items
      where id = any($8::uuid[])
        and phase = 'active'
        and ${IS_FREE}
        and ${HAS_ROOM}
      for no key update skip locked
    ),
    ${CHOOSE_WANTED},
    ${claimWanted(itemTypes)}`
  return (ids: readonly string[], options: ClaimOptions): Promise<readonly Claimed[]> =>
    runClaim(db, itemTypes, text, [...claimParameters(itemTypes, options), ids])
}
