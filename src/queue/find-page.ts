/**
 * Finds one page of items that its reader may see. What PostgreSQL can tell is in the filter; whether the reader may see an
 * item only the rules can say, so each that fits is asked about, a bounded number for one page.
 */
import type { Database } from '../db/database.ts'
import type { ItemTypes } from './sql/detail-sql.ts'
import { listWorkItems, type SqlFilter } from './sql/list-work-items.ts'
import type { ListFilter } from './work-queue.ts'

/** `next`: null = this is the last page. A page may hold fewer items than it should, and still have a next. */
export interface Page {
  readonly ids: readonly string[]
  readonly next: string | null
}

/** What is read at once where most may be hidden from the reader, and how often for one page. */
const BATCH = 1_000
const MOST_BATCHES = 5

export async function findPage(
  db: Database,
  itemTypes: ItemTypes,
  { isVisible, ...filter }: SqlFilter & Pick<ListFilter, 'isVisible'>,
): Promise<Page> {
  if (isVisible === undefined) {
    const { found, next } = await listWorkItems(db, filter)
    return { ids: found.map(({ id }) => id), next }
  }
  const ids: string[] = []
  let next: string | null = filter.before ?? null
  for (let batch = 0; batch < MOST_BATCHES; batch += 1) {
    const from = next === null ? {} : { before: next }
    const listed = await listWorkItems(db, { ...filter, ...from, limit: BATCH })
    for (const item of listed.found) {
      const scope = itemTypes.get(item.itemType)?.scopeOfItem(item)
      if (scope === undefined || !isVisible(item.itemType, scope)) continue
      if (ids.length === filter.limit) return { ids, next: ids.at(-1) ?? null }
      ids.push(item.id)
    }
    next = listed.next
    // A short batch has examined as much as one page may.
    if (next === null || listed.found.length < BATCH) break
  }
  return { ids, next }
}
