/**
 * The life of one claimed item in one worker's hands: drain events → decide → act → decide again → rest. One action at a
 * time, chosen afresh each time (decision 0005); nothing is remembered between two rounds but the lease and what was just
 * read or written. Decisions 0029, 0044, 0049, 0059.
 */
import type { Database } from '../db/database.ts'
import type { EventCounts } from '../lib/event-counts.ts'
import { handleEvent } from './handle-event.ts'
import type { AnyItemType, Snapshot } from './item-type.ts'
import { type Lease, LeaseLost } from './lease.ts'
import type { Pause } from './pause.ts'
import { nextWakeInMs } from './predict.ts'
import {
  type ActionDependencies,
  type ActionOutcome,
  failForLostWorkers,
  failUndecided,
  runAction,
} from './run-action.ts'
import type { Claimed } from './sql/claim-sql.ts'
import { holdWorkItem } from './sql/hold-work-item.ts'
import type { Observation } from './sql/observation.ts'
import type { WorkItem } from './work-item.ts'

export interface LoopDependencies extends ActionDependencies {
  readonly db: Database
  readonly itemTypes: ReadonlyMap<string, AnyItemType>
  readonly read: (ids: readonly string[]) => Promise<ReadonlyMap<string, Observation>>
  /** What holds the item (decision 0085); null = nothing. */
  readonly findPause: (item: WorkItem) => Pause | null
  /** True once the process is stopping: no further step is begun. */
  readonly isStopping: () => boolean
  readonly counts: EventCounts
}

export interface LoopResult {
  /** Milliseconds until the item is due again as far as this worker knows; 0 = at once, null = nobody knows. */
  readonly wakeInMs: number | null
}

/** How long a paused item is left alone, give or take a half; whoever resumes it makes it due at once. */
const HOLD_MS = 60_000

const NOT_OURS: LoopResult = { wakeInMs: null }
const AT_ONCE: LoopResult = { wakeInMs: 0 }

/** Works on an item until nothing is left to do, it has to wait, its deadline passed or the process stops. */
export async function processWorkItem(deps: LoopDependencies, lease: Lease, claimed: Claimed): Promise<LoopResult> {
  try {
    const lost = claimed.unfinishedClaims - 1
    if (lost >= deps.config.max_attempts) {
      return released(await failForLostWorkers(deps, lease, claimed.snapshot, lost))
    }
    return await workUntilRest(deps, lease, claimed)
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error
    deps.log.warn(
      { work_item_id: lease.workItemId, epoch: String(lease.epoch) },
      'work was interrupted; whoever claims the item goes on',
    )
    // Changes nothing where the epoch has moved on; where the process is only stopping, others need not wait.
    await release(deps, lease, false)
    return deps.isStopping() ? AT_ONCE : NOT_OURS
  } finally {
    lease.end()
  }
}

async function workUntilRest(deps: LoopDependencies, lease: Lease, first: Observation): Promise<LoopResult> {
  const startedAt = performance.now()
  let next: Observation | null = first
  while (!deps.isStopping() && performance.now() - startedAt < deps.config.item_deadline) {
    if (lease.isLost) throw new LeaseLost(lease.workItemId)
    const observation: Observation = next ?? (await readAgain(deps, lease))
    const { snapshot, events, moreEvents, unreadable } = observation
    const { item, now } = snapshot
    if (item.phase !== 'active') break
    const type = typeOf(deps, snapshot)
    const [event] = events
    if (event !== undefined && unreadable === null) {
      const handled = await handleEvent(deps, type, lease, observation, event)
      if (handled.kind === 'ended') return NOT_OURS
      next = handled.next
      continue
    }
    if (moreEvents && unreadable === null) {
      next = null
      continue
    }
    if (item.retryAt !== null && item.retryAt > now) {
      await release(deps, lease, false)
      return { wakeInMs: item.retryAt.getTime() - now.getTime() }
    }
    const pause = deps.findPause(item)
    if (pause !== null) {
      lease.end()
      await holdWorkItem(deps.db, { id: item.id, epoch: lease.epoch }, pause.id, HOLD_MS * (0.5 + deps.random()))
      return NOT_OURS
    }
    const decision = decide(type, observation)
    if (decision.error !== undefined) {
      return released(await failUndecided(deps, lease, snapshot, decision.error))
    }
    const { action } = decision
    if (action === null) {
      if (await deps.outcomes.rest(lease, restOf(lease, snapshot))) return { wakeInMs: nextWakeInMs(snapshot) }
      next = null
      continue
    }
    const outcome = await runAction(deps, type, lease, snapshot, action)
    if (outcome.kind !== 'again') return released(outcome)
    next = outcome.next
  }
  // Past the deadline, or stopping: whatever is left stays actionable, for the back of the queue or another process.
  await release(deps, lease, !deps.isStopping())
  return AT_ONCE
}

function released(outcome: ActionOutcome): LoopResult {
  return outcome.kind === 'released' ? { wakeInMs: outcome.wakeInMs } : NOT_OURS
}

/** Deciding is pure and must not fail; where it does, or there is nothing to decide on, the error is a value like the answer. */
function decide(
  type: AnyItemType,
  { snapshot, unreadable }: Observation,
): { readonly action: string | null; readonly error?: unknown } {
  if (unreadable !== null) return { action: null, error: new Error(unreadable) }
  try {
    return { action: type.decide(snapshot) }
  } catch (error) {
    return { action: null, error }
  }
}

function restOf({ epoch }: Lease, { item: { id, revision, wakeCount } }: Snapshot<unknown>) {
  return { id, epoch, revision, wakeCount }
}

async function release({ outcomes }: LoopDependencies, lease: Lease, toTheBack: boolean): Promise<void> {
  lease.end()
  await outcomes.release({ id: lease.workItemId, epoch: lease.epoch, toTheBack })
}

/** @throws LeaseLost. */
async function readAgain({ read }: LoopDependencies, lease: Lease): Promise<Observation> {
  const observation = (await read([lease.workItemId])).get(lease.workItemId)
  if (observation === undefined || observation.snapshot.item.leaseEpoch !== lease.epoch) {
    throw new LeaseLost(lease.workItemId)
  }
  return observation
}

function typeOf(deps: LoopDependencies, { item }: Snapshot<unknown>): AnyItemType {
  const type = deps.itemTypes.get(item.itemType)
  if (type === undefined) throw new Error(`work item ${item.id} is of type ${item.itemType}, which is not handled here`)
  return type
}
