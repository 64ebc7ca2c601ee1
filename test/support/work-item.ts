/** A work item for tests that need no database: freshly submitted, unless it is told otherwise. */
import type { WorkItem } from '../../src/queue/work-item.ts'

const CREATED = new Date('2026-03-02T08:00:00Z')

export function newWorkItem(given: Partial<WorkItem> = {}): WorkItem {
  const dedupKey = given.dedupKey ?? 'mr:group/widgets:bot/change'
  const generation = given.generation ?? 1
  return {
    id: '01a22f1e-3ae8-7095-80ce-2f306ef152c9',
    itemType: 'mr',
    phase: 'active',
    resolution: null,
    actionable: true,
    attempts: 0,
    transientFailures: 0,
    failingSince: null,
    lastError: null,
    retryAt: null,
    dueAt: CREATED,
    leasedUntil: null,
    leaseEpoch: 1n,
    revision: 0n,
    wakeCount: 0n,
    dedupKey,
    generation,
    idempotencyKey: `${dedupKey}:${generation}`,
    contentHash: 'c'.repeat(64),
    concurrencyKey: null,
    parentId: null,
    callerIdentity: 'tester',
    createdAt: CREATED,
    updatedAt: CREATED,
    endedAt: null,
    lastEventAt: null,
    ...given,
  }
}
