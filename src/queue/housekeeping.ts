/**
 * Removes what ended long ago, so that the tables hold what is alive and what somebody may still ask about. In small batches
 * with pauses between them: deleting a million items in one go would hold up everybody else. Each process does it; rows that
 * one of them has taken are skipped by the others. The history of an item is in the audit, not here (decision 0064).
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../db/database.ts'
import { messageOf } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { deleteEndedWorkItems } from './sql/delete-ended-work-items.ts'

export interface Housekeeping {
  start(): void
  stop(): Promise<void>
}

export interface HousekeepingOptions {
  readonly db: Database
  readonly log: Log
  /** Items are kept for this long after their end. */
  readonly retentionMs: number
  readonly intervalMs?: number
  readonly batch?: number
  readonly pauseMs?: number
}

export function createHousekeeping(options: HousekeepingOptions): Housekeeping {
  const { db, log, retentionMs, intervalMs = 60_000, batch = 500, pauseMs = 200 } = options
  const stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()

  async function tidy(): Promise<void> {
    let removed = 0
    try {
      for (;;) {
        const deleted = await deleteEndedWorkItems(db, retentionMs, batch)
        removed += deleted
        if (deleted < batch || stopping.signal.aborted) break
        await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
      }
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'ended items could not be removed; it is tried again in a while')
    }
    if (removed > 0) log.info({ removed }, 'items that ended long ago were removed')
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await tidy()
      await delay(intervalMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  return {
    start() {
      running = run()
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}
