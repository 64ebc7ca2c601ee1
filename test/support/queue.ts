/** A whole queue over a test database: what `app/compose` builds, without GitLab and HTTP. */
import type { Database } from '../../src/db/database.ts'
import { silentLog } from '../../src/lib/log.ts'
import { type QueueConfig, queueConfigSchema } from '../../src/queue/config.ts'
import { createQueue } from '../../src/queue/create-queue.ts'
import type { AnyItemType } from '../../src/queue/item-type.ts'
import type { PauseAdmin } from '../../src/queue/pause-admin.ts'
import type { ProcessingManager } from '../../src/queue/processing-manager.ts'
import type { QueueAdmin } from '../../src/queue/queue-admin.ts'
import type { WorkQueue } from '../../src/queue/work-queue.ts'
import { createRecordedAudit, type RecordedAudit } from './recorded-audit.ts'

export interface TestQueue {
  readonly queue: WorkQueue
  readonly manager: ProcessingManager
  readonly admin: QueueAdmin
  readonly pauses: PauseAdmin
  readonly audit: RecordedAudit
  /** With wake-ups from other processes and housekeeping; `manager.start()` is without. */
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * Not started: a submission is only stored until `start()` or `manager.start()`, which also sweeps. `listenUrl`: listen to
 * other processes there, and tell them.
 */
export function createTestQueue(
  db: Database,
  types: readonly AnyItemType[],
  config: Partial<QueueConfig> = {},
  listenUrl: string | null = null,
): TestQueue {
  const audit = createRecordedAudit()
  const { work, manager, admin, pauses, start, stop } = createQueue({
    db,
    itemTypes: new Map(types.map((type) => [type.name, type])),
    audit,
    log: silentLog,
    config: { ...queueConfigSchema.parse({}), ...config },
    random: () => 0.5,
    listenUrl,
  })
  return { queue: work, manager, admin, pauses, audit, start, stop }
}
