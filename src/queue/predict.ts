/**
 * What an item looks like after a write of its own worker, without reading it again. It only holds where the write met the
 * item as it had been read; whoever uses it has compared `revision` and `wake_count` first.
 */
import type { Dimension } from './dimension.ts'
import type { DimensionDraft, Draft } from './draft.ts'
import type { Snapshot } from './item-type.ts'
import type { WorkItem } from './work-item.ts'

/** After a success: failures are forgotten, and the draft is true. */
export function afterSuccess(before: Snapshot<unknown>, draft: Draft<unknown>, now: Date): Snapshot<unknown> {
  const item: WorkItem = {
    ...before.item,
    phase: draft.phase,
    resolution: draft.resolution,
    attempts: 0,
    transientFailures: 0,
    failingSince: null,
    lastError: null,
    retryAt: null,
    updatedAt: now,
  }
  return { item, detail: draft.detail, dimensions: withChanges(before.dimensions, draft.dimensionChanges, now), now }
}

/** After an event that changed no phase. */
export function afterEvent(
  before: Snapshot<unknown>,
  changes: readonly DimensionDraft[],
  lastEventAt: Date,
  now: Date,
): Snapshot<unknown> {
  const item: WorkItem = { ...before.item, lastEventAt, updatedAt: now }
  return { ...before, item, dimensions: withChanges(before.dimensions, changes, now), now }
}

function withChanges(
  before: readonly Dimension[],
  changes: readonly DimensionDraft[],
  now: Date,
): readonly Dimension[] {
  const rows = new Map(before.map((row) => [keyOf(row), row]))
  for (const { dimension, variant, status, deferMs, note } of changes) {
    const deferred = status === 'true' && deferMs !== null
    const pendingUntil = deferred ? new Date(now.getTime() + deferMs) : null
    rows.set(keyOf({ dimension, variant }), { dimension, variant, status, pendingUntil, note, updatedAt: now })
  }
  return [...rows.values()]
}

function keyOf({ dimension, variant }: Pick<Dimension, 'dimension' | 'variant'>): string {
  return `${dimension}\u0000${variant}`
}

/** Milliseconds until the nearest deferred dimension comes due; null when none is deferred. */
export function nextWakeInMs({ dimensions, now }: Snapshot<unknown>): number | null {
  const instants = dimensions.flatMap(({ status, pendingUntil }) =>
    status === 'true' && pendingUntil !== null ? [pendingUntil.getTime()] : [],
  )
  return instants.length === 0 ? null : Math.max(0, Math.min(...instants) - now.getTime())
}
