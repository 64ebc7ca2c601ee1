/** A whole queue over a test database: what `app/compose` builds, without GitLab and HTTP. */
import type { Database } from '../../src/db/database.ts'
import { silentLog } from '../../src/lib/log.ts'
import { type QueueConfig, queueConfigSchema } from '../../src/queue/config.ts'
import { createWorkQueue } from '../../src/queue/create-work-queue.ts'
import type { AnyItemType } from '../../src/queue/item-type.ts'
import { createProcessingManager, type ProcessingManager } from '../../src/queue/processing-manager.ts'
import type { WorkQueue } from '../../src/queue/work-queue.ts'
import { createRecordedAudit, type RecordedAudit } from './recorded-audit.ts'

export interface TestQueue {
  readonly queue: WorkQueue
  readonly manager: ProcessingManager
  readonly audit: RecordedAudit
}

/** Not started: `manager.start()` sweeps, and a submission wakes its item only once it was called. */
export function createTestQueue(
  db: Database,
  types: readonly AnyItemType[],
  config: Partial<QueueConfig> = {},
): TestQueue {
  const audit = createRecordedAudit()
  const itemTypes = new Map(types.map((type) => [type.name, type]))
  const manager = createProcessingManager({
    db,
    itemTypes,
    audit,
    log: silentLog,
    config: { ...queueConfigSchema.parse({}), ...config },
    random: () => 0.5,
  })
  const queue = createWorkQueue({ db, itemTypes, audit, notify: manager.notify })
  return { queue, manager, audit }
}
