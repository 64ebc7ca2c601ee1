/** Watches for items that are due and that nobody claims, and measures how long that lasts while no fault is at work. */
import { setTimeout as delay } from 'node:timers/promises'
import { now } from './journal.ts'
import type { ChaosPostgres } from './postgres.ts'

export interface UnclaimedWatch {
  /** What goes on meanwhile excuses everybody. */
  during(fault: () => Promise<void>): Promise<void>
  /** Answers the longest wait, in milliseconds. */
  stop(): Promise<number>
}

const SAMPLE_MS = 100

const UNCLAIMED = `
  select id from work_items
  where phase = 'active'
    and (leased_until is null or leased_until < now())
    and coalesce(retry_at <= now(), true)
    and (actionable
         or exists (select from pending_events e where e.work_item_id = work_items.id and not dead)
         or exists (select from work_item_statuses s
                    where s.work_item_id = work_items.id and status = 'true' and pending_until <= now()))`

export function watchUnclaimed(postgres: ChaosPostgres): UnclaimedWatch {
  const since = new Map<string, number>()
  let [watching, faults, calmSince, longestMs] = [true, 0, now(), 0]

  async function sample(): Promise<void> {
    const askedAt = now()
    const ids = new Set((await postgres.query(UNCLAIMED)).map((row) => String(row['id'])))
    for (const id of [...since.keys()]) if (!ids.has(id)) since.delete(id)
    for (const id of ids) if (!since.has(id)) since.set(id, askedAt)
    if (faults > 0) return
    for (const first of since.values()) longestMs = Math.max(longestMs, askedAt - Math.max(first, calmSince))
  }

  const watched = (async () => {
    while (watching) {
      await sample().catch(() => since.clear())
      await delay(SAMPLE_MS)
    }
  })()

  return {
    async during(fault) {
      faults += 1
      try {
        await fault()
      } finally {
        faults -= 1
        calmSince = now()
      }
    },
    async stop() {
      watching = false
      await watched
      return longestMs
    },
  }
}
