/**
 * The life of one item in one worker's hands: claim → drain events → decide → act → decide again → rest. One action at a
 * time, chosen afresh each time (decision 0005); nothing is remembered between two rounds but the lease. Decisions 0029,
 * 0034, 0044, 0049.
 */

import { handleEvent } from './handle-event.ts'
import type { AnyItemType, Snapshot } from './item-type.ts'
import { claim, type Lease, LeaseLost } from './lease.ts'
import { readSnapshot } from './read-snapshot.ts'
import { type ActionDependencies, runAction } from './run-action.ts'
import { nextPendingEvent } from './sql/pending-events.ts'
import { restWorkItem } from './sql/rest-work-item.ts'

export interface LoopDependencies extends ActionDependencies {
  readonly itemTypes: ReadonlyMap<string, AnyItemType>
  /** True once the process is stopping: no further step is begun. */
  readonly isStopping: () => boolean
}

export interface LoopResult {
  /** Milliseconds until the item is due again as far as this worker knows; 0 = at once, null = nobody knows. */
  readonly wakeInMs: number | null
}

const NOT_OURS: LoopResult = { wakeInMs: null }
const AT_ONCE: LoopResult = { wakeInMs: 0 }

/** Works on an item until nothing is left to do, it has to wait, its deadline passed or the process stops. */
export async function processWorkItem(deps: LoopDependencies, workItemId: string): Promise<LoopResult> {
  const { db, log, config } = deps
  const lease = await claim(db, log, workItemId, config.lease)
  if (lease === null) return NOT_OURS
  try {
    return await workUntilRest(deps, lease)
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error
    log.warn(
      { work_item_id: workItemId, epoch: String(lease.epoch) },
      'work was interrupted; whoever claims the item goes on',
    )
    // Changes nothing where the epoch has moved on; where the process is only stopping, others need not wait.
    await lease.release()
    return NOT_OURS
  } finally {
    lease.end()
  }
}

async function workUntilRest(deps: LoopDependencies, lease: Lease): Promise<LoopResult> {
  const { db, config } = deps
  const startedAt = performance.now()
  while (!deps.isStopping() && performance.now() - startedAt < config.item_deadline) {
    if (lease.signal.aborted) throw new LeaseLost(lease.workItemId)
    const snapshot = await drainEvents(deps, lease)
    if (snapshot === null) {
      await lease.release()
      return NOT_OURS
    }
    const { item, now } = snapshot
    if (item.retryAt !== null && item.retryAt > now) {
      await lease.release()
      return { wakeInMs: item.retryAt.getTime() - now.getTime() }
    }
    const type = typeOf(deps, snapshot)
    const action = type.decide(snapshot)
    if (action === null) {
      const { rested, wakeInMs } = await restWorkItem(db, item.id, lease.epoch, item.revision)
      if (rested) return { wakeInMs }
      continue
    }
    const outcome = await runAction(deps, type, lease, snapshot, action)
    if (outcome.kind === 'ended') return NOT_OURS
    if (outcome.kind === 'waiting') return { wakeInMs: outcome.retryInMs }
  }
  // Past the deadline, or stopping: whatever is left stays actionable, for the back of the pool or another process.
  await lease.release()
  return AT_ONCE
}

/** Applies all pending events, oldest first; answers the item as it then is, or null when it is no longer to be worked on. */
async function drainEvents(deps: LoopDependencies, lease: Lease): Promise<Snapshot<unknown> | null> {
  const { db } = deps
  for (;;) {
    const snapshot = await readSnapshot(db, deps.itemTypes, lease.workItemId)
    if (snapshot === null || snapshot.item.phase !== 'active') return null
    if (snapshot.item.leaseEpoch !== lease.epoch) throw new LeaseLost(lease.workItemId)
    const event = await nextPendingEvent(db, lease.workItemId)
    if (event === null) return snapshot
    await handleEvent(deps, typeOf(deps, snapshot), lease, snapshot, event)
  }
}

function typeOf(deps: LoopDependencies, { item }: Snapshot<unknown>): AnyItemType {
  const type = deps.itemTypes.get(item.itemType)
  if (type === undefined) throw new Error(`work item ${item.id} is of type ${item.itemType}, which is not handled here`)
  return type
}
