/**
 * From the queue's values to the public shapes. Every field is named one by one: what is not named here stays inside.
 */
import type { ListedWorkItem, WorkItemCore, WorkItemView } from '../contract/work-item.ts'
import type { Dimension } from '../queue/dimension.ts'
import type { Presentation } from '../queue/item-type.ts'
import type { WorkItem } from '../queue/work-item.ts'

export function coreView(item: WorkItem): WorkItemCore {
  return {
    id: item.id,
    item_type: item.itemType,
    phase: item.phase,
    resolution: item.resolution,
    generation: item.generation,
    dedup_key: item.dedupKey,
    idempotency_key: item.idempotencyKey,
    caller_identity: item.callerIdentity,
    actionable: item.actionable,
    attempts: item.attempts,
    last_error: item.lastError,
    retry_at: item.retryAt?.toISOString() ?? null,
    revision: Number(item.revision),
    created_at: item.createdAt.toISOString(),
    updated_at: item.updatedAt.toISOString(),
  }
}

export function listedView(item: WorkItem, { summary, links, blockers, detail }: Presentation): ListedWorkItem {
  return {
    ...coreView(item),
    summary,
    links: [...links],
    blockers: blockers.map(({ code, message, since, clearedBy, links: about = [] }) => ({
      code,
      message,
      since: since?.toISOString() ?? null,
      cleared_by: clearedBy,
      links: [...about],
    })),
    detail: { ...detail },
  }
}

export function fullView(item: WorkItem, presentation: Presentation, dimensions: readonly Dimension[]): WorkItemView {
  return {
    ...listedView(item, presentation),
    dimensions: dimensions.map(({ dimension, variant, status, pendingUntil, note }) => ({
      name: dimension,
      variant,
      status,
      pending_until: pendingUntil?.toISOString() ?? null,
      note,
    })),
  }
}
