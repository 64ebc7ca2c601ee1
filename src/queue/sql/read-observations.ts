import type { Database } from '../../db/database.ts'
import { runPrepared } from '../../db/prepared.ts'
import type { ItemTypes } from './detail-sql.ts'
import { type Observation, type ObservationRow, observationColumns, toObservation } from './observation.ts'

/** Everything known about these items as of one instant; what does not exist or is not handled here is missing. */
export function createReadObservations(db: Database, itemTypes: ItemTypes) {
  const text = `
    select ${observationColumns(itemTypes)}
    from work_items item
    where item.id = any($1::uuid[])
      and item.item_type = any($2::text[])`
  return async (ids: readonly string[]): Promise<ReadonlyMap<string, Observation>> => {
    const { rows } = await runPrepared<ObservationRow>(db, text, [ids, [...itemTypes.keys()]])
    return new Map(rows.map((row) => [row.id, toObservation(itemTypes, row)]))
  }
}
