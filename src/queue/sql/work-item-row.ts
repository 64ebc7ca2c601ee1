/**
 * The one translation between the columns of `work_items` and the WorkItem of the code. The database driver's types are
 * trusted: the schema is ours.
 */
import type { Selectable } from 'kysely'
import type { WorkItemStatuses, WorkItems } from '../../db/schema.ts'
import type { Dimension, DimensionStatus } from '../dimension.ts'
import type { LastError, Phase, WorkItem } from '../work-item.ts'

export type WorkItemRow = Selectable<WorkItems>

export function toWorkItem(row: WorkItemRow): WorkItem {
  return {
    id: row.id,
    itemType: row.item_type,
    phase: row.phase as Phase,
    resolution: row.resolution,
    actionable: row.actionable,
    attempts: row.attempts,
    transientFailures: row.transient_failures,
    failingSince: row.failing_since,
    lastError: row.last_error as LastError | null,
    retryAt: row.retry_at,
    dueAt: row.due_at,
    leasedUntil: row.leased_until,
    leaseEpoch: row.lease_epoch,
    revision: row.revision,
    wakeCount: row.wake_count,
    dedupKey: row.dedup_key,
    generation: row.generation,
    idempotencyKey: row.idempotency_key,
    contentHash: row.content_hash,
    concurrencyKey: row.concurrency_key,
    parentId: row.parent_id,
    callerIdentity: row.caller_identity,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    endedAt: row.ended_at,
    lastEventAt: row.last_event_at,
  }
}

export function toDimension(row: Selectable<WorkItemStatuses>): Dimension {
  return {
    dimension: row.dimension,
    variant: row.variant,
    status: row.status as DimensionStatus,
    pendingUntil: row.pending_until,
    note: row.note,
    updatedAt: row.updated_at,
  }
}
