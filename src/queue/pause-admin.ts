/**
 * Pausing and resuming, for operators. A pause is committed, then audited, then this process acts on it; the others notice
 * within a second.
 */
import type { Audit } from '../audit/entry.ts'
import type { Database } from '../db/database.ts'
import { WorkQueueError } from '../lib/errors.ts'
import type { Pause, PauseScope } from './pause.ts'
import type { Pauses } from './pauses.ts'
import { endPause, readPauses, storePause } from './sql/pauses.ts'

export interface PauseAdmin {
  /** Oldest first. */
  list(): Promise<readonly Pause[]>
  /** @throws WorkQueueError `pause_not_found`. */
  get(id: string): Promise<Pause>
  /** Pausing what is paused already changes the reason. */
  pause(scope: PauseScope, reason: string, caller: string): Promise<{ readonly pause: Pause; readonly isNew: boolean }>
  /** @throws WorkQueueError `pause_not_found`. */
  resume(id: string, caller: string): Promise<Pause>
}

export interface PauseAdminDependencies {
  readonly db: Database
  readonly pauses: Pauses
  readonly audit: Audit
  /** Items that were held are due. */
  readonly wake: () => void
}

export function createPauseAdmin({ db, pauses, audit, wake }: PauseAdminDependencies): PauseAdmin {
  async function get(id: string): Promise<Pause> {
    const found = (await readPauses(db)).find((pause) => pause.id === id)
    if (found === undefined) throw new WorkQueueError('pause_not_found', `There is no pause ${id}; it may have ended.`)
    return found
  }

  function record(
    action: 'pause' | 'resume',
    { id, itemType, concurrencyKey, callerIdentity, reason }: Pause,
    caller: string,
  ) {
    audit.record({
      event_type: 'request',
      caller,
      action,
      outcome: 'accepted',
      ...(itemType === null ? {} : { item_type: itemType }),
      facts: { pause_id: id, concurrency_key: concurrencyKey, paused_caller: callerIdentity, reason },
    })
  }

  return {
    list: () => readPauses(db),
    get,
    async pause(scope, reason, caller) {
      const { id, isNew } = await storePause(db, scope, { reason, by: caller })
      const pause = await get(id)
      record('pause', pause, caller)
      await pauses.refresh()
      return { pause, isNew }
    },
    async resume(id, caller) {
      const pause = await get(id)
      if (!(await endPause(db, pause))) return get(id)
      record('resume', pause, caller)
      await pauses.refresh()
      wake()
      return pause
    },
  }
}
