/** Which active items an event concerns: those with its merge request, its pipeline or its branch. Decision 0032. */
import type { Database } from '../../../db/database.ts'
import type { IncomingEvent } from '../../../queue/item-type.ts'
import { findItemsByPointers } from '../store.ts'
import { readPointers } from './schema.ts'

export async function resolveItems(db: Database, { eventType, body }: IncomingEvent): Promise<readonly string[]> {
  const pointers = readPointers(eventType, body)
  return pointers === null ? [] : findItemsByPointers(db, pointers)
}
