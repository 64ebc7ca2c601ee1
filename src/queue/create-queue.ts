/** Puts one process's queue together: its workers, what callers and operators see of it, and the wake-ups between processes. */
import type { Audit } from '../audit/entry.ts'
import type { Database } from '../db/database.ts'
import { createWakeChannel } from '../db/wake-channel.ts'
import { createEventCounts, type EventCounts } from '../lib/event-counts.ts'
import type { Log } from '../lib/log.ts'
import type { QueueConfig } from './config.ts'
import { createWorkQueue } from './create-work-queue.ts'
import { createHousekeeping } from './housekeeping.ts'
import type { AnyItemType } from './item-type.ts'
import { createOpenItems } from './open-items.ts'
import { createPauseAdmin, type PauseAdmin } from './pause-admin.ts'
import { createPauses } from './pauses.ts'
import { createProcessingManager, type ProcessingManager } from './processing-manager.ts'
import { createQueueAdmin, type QueueAdmin } from './queue-admin.ts'
import { ANYWHERE, notifyWake, WAKE_CHANNEL } from './sql/notify-wake.ts'
import { createWakeHints } from './wake-hints.ts'
import type { WorkQueue } from './work-queue.ts'

export interface Queue {
  readonly work: WorkQueue
  readonly admin: QueueAdmin
  readonly pauses: PauseAdmin
  readonly manager: ProcessingManager
  /** Begins to work, once it is known what is paused; until then submissions are only stored. */
  start(): Promise<void>
  /** Decision 0036: begins nothing new, lets running actions finish, then gives up. */
  stop(): Promise<void>
}

export interface QueueDependencies {
  readonly db: Database
  readonly itemTypes: ReadonlyMap<string, AnyItemType>
  readonly config: QueueConfig
  readonly audit: Audit
  readonly log: Log
  readonly random: () => number
  /** Where to listen for wake-ups, PostgreSQL itself; null = neither listen nor tell others, the sweep finds everything. */
  readonly listenUrl: string | null
  /** What became of events; also of those that never reach the queue, where somebody else counts them. */
  readonly counts?: EventCounts
}

export function createQueue(dependencies: QueueDependencies): Queue {
  const { db, itemTypes, config, audit, log, random, listenUrl, counts = createEventCounts() } = dependencies
  const hints = createWakeHints({ notify: (anywhere) => notifyWake(db, anywhere), log, enabled: listenUrl !== null })
  const pauses = createPauses(db, log, () => manager.interrupt((item) => pauses.find(item) !== null))
  const manager: ProcessingManager = createProcessingManager({
    ...{ ...dependencies, counts, findPause: pauses.find },
    tellOthers: hints.sendReleased,
  })
  const channel =
    listenUrl === null
      ? null
      : createWakeChannel({
          url: listenUrl,
          channel: WAKE_CHANNEL,
          db,
          log,
          random,
          onWake: (said) => manager.notifyAny(said.has(ANYWHERE)),
          onReconnect: () => manager.notifyAny(true),
        })
  const housekeeping = createHousekeeping({ db, log, retentionMs: config.retention })
  const listening = () => {
    if (channel === null) return 'off'
    return channel.state() === 'listening' ? 'on' : 'lost'
  }
  return {
    work: createWorkQueue({
      ...{ db, itemTypes, audit, manager, hints, counts, findPause: pauses.find, leaseMs: config.lease },
      openItems: createOpenItems(db, config),
    }),
    admin: createQueueAdmin({
      db,
      itemTypes,
      audit,
      notify: manager.notify,
      processStatus: () => ({ ...manager.status(), listening: listening(), events: counts.read() }),
    }),
    pauses: createPauseAdmin({
      ...{ db, pauses, audit },
      wake() {
        manager.notifyAny(true)
        hints.sendReleased()
      },
    }),
    manager,
    async start() {
      await pauses.start()
      manager.start()
      channel?.start()
      housekeeping.start()
    },
    async stop() {
      pauses.stop()
      await Promise.all([channel?.stop(), housekeeping.stop()])
      await manager.stop()
      await hints.stop()
    },
  }
}
