import type { Transaction } from '../../db/database.ts'
import { runPrepared } from '../../db/prepared.ts'
import { type ItemTypes, updateDetails } from './detail-sql.ts'

/** Replaces what the caller owns of a detail, and keeps what the service has observed. `detail` is JSON text. */
export function createReplaceDetail(itemTypes: ItemTypes) {
  const text = `
    with source as materialized (
      select $1::uuid as id, $2::text as item_type, $3::jsonb as detail
    )${updateDetails(itemTypes, 'source', 'submitted')}
    select id from source`
  return async (tx: Transaction, id: string, itemType: string, detail: string): Promise<void> => {
    await runPrepared(tx, text, [id, itemType, detail])
  }
}
