/**
 * Stores events for the items they concern and wakes their workers. Events that arrive at the same time share a statement
 * and a commit (decision 0062); each is answered after that commit, so that its sender may forget it (decision 0031).
 */

import type { Database } from '../db/database.ts'
import { isDatabaseTrouble } from '../lib/connection-error.ts'
import type { EventCounts, EventStage } from '../lib/event-counts.ts'
import { createGrouper } from '../lib/grouper.ts'
import type { IncomingEvent } from './item-type.ts'
import type { ProcessingManager } from './processing-manager.ts'
import { createStoreEvents, type NewEvent, type Storing } from './sql/store-events.ts'
import type { WakeHints } from './wake-hints.ts'

const MOST_IN_A_GROUP = 500
const HEAVIEST_GROUP = 8_000_000

export interface StoreDependencies {
  readonly db: Database
  readonly manager: Pick<ProcessingManager, 'notify' | 'isBusy'>
  readonly hints: WakeHints
  readonly counts: EventCounts
}

const COUNTED_AS: Readonly<Record<Storing, EventStage>> = { stored: 'inserted', known: 'known', refused: 'refused' }

export function createStorePendingEvents({
  db,
  manager,
  hints,
  counts,
}: StoreDependencies): (workItemIds: readonly string[], event: IncomingEvent) => Promise<void> {
  const store = createStoreEvents(db)
  const groups = createGrouper<NewEvent & { readonly weight: number }, Storing>({
    run: (events) => store(events, 'skip'),
    maxSize: MOST_IN_A_GROUP,
    maxWeight: HEAVIEST_GROUP,
    weigh: ({ weight }) => weight,
    isShared: isDatabaseTrouble,
  })

  return async (workItemIds, event) => {
    const weight = JSON.stringify(event.body).length
    await Promise.all(
      workItemIds.map(async (workItemId) => {
        const stored = await groups.run({ workItemId, event, weight })
        // Refused: its row may only have been locked. Alone, the statement waits for it.
        const final = stored === 'refused' ? (await store([{ workItemId, event }], 'wait'))[0] : stored
        counts.add(COUNTED_AS[final ?? 'refused'])
        if (final !== 'stored') return
        manager.notify(workItemId)
        if (manager.isBusy()) hints.send()
      }),
    )
  }
}
