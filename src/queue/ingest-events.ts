/**
 * Takes events in: finds out whom each concerns, and stores it for them. Several at once are all resolved before the first is
 * stored; then they go into one group, and not into a group for each that arrives (decision 0062).
 */
import type { Database } from '../db/database.ts'
import type { EventCounts } from '../lib/event-counts.ts'
import type { AnyItemType, IncomingEvent } from './item-type.ts'
import { createStorePendingEvents, type StoreDependencies } from './store-pending-events.ts'
import type { WorkQueue } from './work-queue.ts'

export interface IngestDependencies extends StoreDependencies {
  readonly db: Database
  readonly itemTypes: ReadonlyMap<string, AnyItemType>
  readonly counts: EventCounts
}

export function createIngestEvents(dependencies: IngestDependencies): Pick<WorkQueue, 'ingest' | 'ingestAll'> {
  const { db, itemTypes, counts } = dependencies
  const storePendingEvents = createStorePendingEvents(dependencies)

  async function resolve(event: IncomingEvent): Promise<readonly string[]> {
    const ids: string[] = []
    for (const type of itemTypes.values()) ids.push(...(await type.events.resolve(db, event)))
    if (ids.length === 0) counts.add('unresolved')
    return ids
  }

  return {
    async ingest(event) {
      const ids = await resolve(event)
      await storePendingEvents(ids, event)
      return ids
    },
    async ingestAll(events) {
      const resolved = await Promise.allSettled(events.map(resolve))
      const stored = events.map(async (event, place) => {
        const outcome = resolved[place]
        if (outcome?.status !== 'fulfilled') throw outcome?.reason
        await storePendingEvents(outcome.value, event)
        return outcome.value
      })
      return Promise.allSettled(stored)
    },
  }
}
