/**
 * Reads everything known about one item at one instant: the generic part by the queue, the detail by its type.
 */
import type { Database } from '../db/database.ts'
import type { AnyItemType, Snapshot } from './item-type.ts'
import { readWorkItem } from './sql/read-work-item.ts'

/** null when the item does not exist, or its type is not handled here. */
export async function readSnapshot(
  db: Database,
  itemTypes: ReadonlyMap<string, AnyItemType>,
  id: string,
): Promise<Snapshot<unknown> | null> {
  const read = await readWorkItem(db, id)
  if (read === null) return null
  const type = itemTypes.get(read.item.itemType)
  if (type === undefined) return null
  return { ...read, detail: await type.store.read(db, id) }
}
