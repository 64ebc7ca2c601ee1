/**
 * Runs one action of one item and persists what came of it: the draft in one transaction on success, a counted failure
 * with its earliest next try otherwise. Every write is conditional on the lease epoch. Decisions 0014, 0015, 0052, 0054.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Audit } from '../audit/entry.ts'
import { retryInMs } from '../lib/backoff.ts'
import { isDatabaseTrouble } from '../lib/connection-error.ts'
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { recordPhaseChange } from './audit-phase-change.ts'
import type { QueueConfig } from './config.ts'
import { dimensionKey } from './dimension.ts'
import { Draft } from './draft.ts'
import type { AnyItemType, ExecutorContext, ExecutorResult, Snapshot } from './item-type.ts'
import { type Lease, LeaseLost } from './lease.ts'
import type { Outcomes } from './outcomes.ts'
import { afterSuccess, nextWakeInMs } from './predict.ts'
import type { Observation } from './sql/observation.ts'

export interface ActionDependencies {
  readonly config: QueueConfig
  readonly outcomes: Outcomes
  readonly audit: Audit
  readonly log: Log
  readonly random: () => number
  /** Waits for a free worker, and holds it for as long as the action runs (decision 0041). */
  readonly inWorker: <T>(run: () => Promise<T>) => Promise<T>
}

/**
 * `again`: decide once more, on `next`; null = read it first. `ended`: terminal. `released`: nothing to do for now, or failed;
 * the next look is due after `wakeInMs`, null = nobody knows. The lease is given back where the kind is not `again`.
 */
export type ActionOutcome =
  | { readonly kind: 'again'; readonly next: Observation | null }
  | { readonly kind: 'ended' }
  | { readonly kind: 'released'; readonly wakeInMs: number | null }

/** @throws LeaseLost, and whatever the database throws: then nothing was recorded and the lease runs out. */
export async function runAction(
  deps: ActionDependencies,
  type: AnyItemType,
  lease: Lease,
  snapshot: Snapshot<unknown>,
  action: string,
): Promise<ActionOutcome> {
  const draft = new Draft(snapshot.item, snapshot.detail, snapshot.dimensions)
  const startedAt = performance.now()
  const outcome = await deps.inWorker(() => execute(deps, type, lease, snapshot, action, draft))
  // An interruption explains any failure: whoever claims the item next does the action, and nothing is counted here. An
  // action that had succeeded by then is recorded if the lease still holds.
  if (lease.isLost && outcome.kind === 'failure') throw new LeaseLost(snapshot.item.id)
  if (outcome.kind === 'failure') return persistFailure(deps, lease, snapshot, action, outcome)
  const now = new Date(snapshot.now.getTime() + performance.now() - startedAt)
  try {
    return await persistSuccess(deps, type, lease, snapshot, action, draft, now)
  } catch (error) {
    if (error instanceof LeaseLost || isDatabaseTrouble(error)) throw error
    // What the action left cannot be stored: a defect, which would come again for ever if it counted for nothing.
    return persistFailure(deps, lease, snapshot, action, defect(deps.log, snapshot, action, error))
  }
}

/** Its processes have died, or lost their leases, so often that it is held to be the cause. @throws as runAction. */
export function failForLostWorkers(
  deps: ActionDependencies,
  lease: Lease,
  snapshot: Snapshot<unknown>,
  claims: number,
): Promise<ActionOutcome> {
  const message = `The processes that worked on it died, or lost it, ${claims} times in a row. Look for the reason in their logs, then retry it.`
  return persistFailure(deps, lease, snapshot, 'claim', { ...failure('workers_lost', message), forGood: true })
}

/** An item that cannot even be decided on: it counts like a failed action, so that it is seen and ends. @throws as runAction. */
export function failUndecided(
  deps: ActionDependencies,
  lease: Lease,
  snapshot: Snapshot<unknown>,
  error: unknown,
): Promise<ActionOutcome> {
  return persistFailure(deps, lease, snapshot, 'decide', defect(deps.log, snapshot, 'decide', error))
}

interface Failure {
  readonly kind: 'failure'
  readonly code: string
  readonly message: string
  readonly transient: boolean
  readonly forGood: boolean
  readonly retryAfterMs: number | undefined
}

async function execute(
  { log, config }: ActionDependencies,
  type: AnyItemType,
  lease: Lease,
  snapshot: Snapshot<unknown>,
  action: string,
  draft: Draft<unknown>,
): Promise<Failure | { readonly kind: 'success' }> {
  if (lease.isLost) return failure('interrupted', `The action ${action} was interrupted before it began.`)
  const executor = type.executors[action]
  if (executor === undefined) {
    return failure('unknown_action', `The item type ${type.name} decided on ${action}, for which it has no executor.`)
  }
  try {
    const running = executor(draft, contextOf(lease, snapshot, log))
    const result: ExecutorResult = await withinTime(running, lease, action, config.action_timeout)
    if (result.outcome === 'succeeded') return { kind: 'success' }
    return { ...failure(result.code, result.message), forGood: result.outcome === 'failed_for_good' }
  } catch (error) {
    if (error instanceof WorkQueueError) {
      const transient = error.failure === 'transient'
      return { ...failure(error.code, error.message), transient, retryAfterMs: error.retryAfterMs }
    }
    if (isDatabaseTrouble(error)) {
      const message = `The database was not available to the action ${action}.`
      return { ...failure('database_unavailable', message), transient: true }
    }
    return defect(log, snapshot, action, error)
  }
}

/** What an action answers that notices its interruption; one that does not is no longer waited for. */
const NOTICE_MS = 5_000

/**
 * Waits for an action for as long as it may take, then interrupts it. One that hangs would otherwise hold its worker, and by
 * its heartbeat its item, for ever. @throws WorkQueueError `action_timed_out`.
 */
async function withinTime<T>(running: Promise<T>, lease: Lease, action: string, timeoutMs: number): Promise<T> {
  const timedOut = new WorkQueueError('action_timed_out', `The action ${action} did not end within ${timeoutMs} ms.`)
  const { promise, reject } = Promise.withResolvers<never>()
  let notice: NodeJS.Timeout | undefined
  const limit = setTimeout(() => {
    lease.interrupt(timedOut)
    notice = setTimeout(reject, Math.min(NOTICE_MS, timeoutMs), timedOut)
  }, timeoutMs)
  try {
    return await Promise.race([running, promise])
  } finally {
    clearTimeout(limit)
    clearTimeout(notice)
  }
}

/** The signal is made when it is asked for. */
function contextOf(lease: Lease, { now }: Snapshot<unknown>, log: Log): ExecutorContext {
  return {
    get signal() {
      return lease.signal
    },
    now,
    log,
  }
}

/** A defect of ours: the stack goes to the log, the sentence to the item. */
function defect(log: Log, { item }: Snapshot<unknown>, action: string, error: unknown): Failure {
  log.error({ work_item_id: item.id, action, error: messageOf(error), stack: stackOf(error) }, 'an action threw')
  return failure('internal_error', `The action ${action} failed unexpectedly: ${messageOf(error)}`)
}

function failure(code: string, message: string): Failure {
  return { kind: 'failure', code, message, transient: false, forGood: false, retryAfterMs: undefined }
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined
}

async function persistSuccess(
  { outcomes, audit }: ActionDependencies,
  type: AnyItemType,
  lease: Lease,
  snapshot: Snapshot<unknown>,
  action: string,
  draft: Draft<unknown>,
  now: Date,
): Promise<ActionOutcome> {
  const { item } = snapshot
  const expected = draft.phase === 'active' ? afterSuccess(snapshot, draft, now) : null
  const detail = isDeepStrictEqual(draft.detail, snapshot.detail) ? null : type.details.fromDetail(draft.detail)
  const rests = expected !== null && type.decide(expected) === null
  const recorded = await outcomes.success(lease, {
    id: item.id,
    epoch: lease.epoch,
    revision: item.revision,
    wakeCount: item.wakeCount,
    phase: draft.phase,
    resolution: draft.resolution,
    rests,
    detail,
    dimensions: draft.dimensionChanges,
  })
  if (recorded === null) throw new LeaseLost(item.id)
  audit.record({
    event_type: 'action',
    work_item_id: item.id,
    item_type: item.itemType,
    action,
    outcome: 'succeeded',
    dimensions: Object.fromEntries(draft.dimensionChanges.map((change) => [dimensionKey(change), change.status])),
  })
  if (recorded.phase !== 'active') {
    recordPhaseChange(audit, item, recorded.phase, draft.resolution ?? recorded.phase)
    return { kind: 'ended' }
  }
  if (recorded.released && expected !== null) return { kind: 'released', wakeInMs: nextWakeInMs(expected) }
  // Somebody has written meanwhile: what is there now has to be read.
  if (recorded.revision !== item.revision || recorded.wakeCount !== item.wakeCount) return { kind: 'again', next: null }
  const after = afterSuccess(snapshot, draft, recorded.now)
  return { kind: 'again', next: { snapshot: after, events: [], moreEvents: false, unreadable: null } }
}

async function persistFailure(
  { outcomes, config, audit, random }: ActionDependencies,
  lease: Lease,
  { item, now }: Snapshot<unknown>,
  action: string,
  { code, message, transient, forGood, retryAfterMs }: Failure,
): Promise<ActionOutcome> {
  const failures = 1 + (transient ? item.transientFailures : item.attempts)
  const failingForMs = item.failingSince === null ? 0 : now.getTime() - item.failingSince.getTime()
  const exhausted = transient ? failingForMs > config.transient_budget : failures >= config.max_attempts
  const backoff = { baseMs: config.backoff_base, maxMs: config.backoff_max }
  const waitMs = retryInMs(failures, retryAfterMs, backoff, random)
  const recorded = await outcomes.failure(lease, {
    id: item.id,
    epoch: lease.epoch,
    revision: item.revision,
    code,
    message,
    transient,
    final: forGood || exhausted,
    retryInMs: waitMs,
  })
  if (recorded === null) throw new LeaseLost(item.id)
  audit.record({
    event_type: 'action',
    work_item_id: item.id,
    item_type: item.itemType,
    action,
    outcome: transient ? 'failed_transiently' : 'failed',
    error_code: code,
    message,
    facts: { failures, ...(recorded.phase === 'active' ? { retry_in_ms: waitMs } : {}) },
  })
  if (recorded.phase === 'active') {
    // A caller has written meanwhile: that deserves a try at once.
    return { kind: 'released', wakeInMs: recorded.revision === item.revision ? waitMs : 0 }
  }
  recordPhaseChange(audit, item, recorded.phase, code)
  return { kind: 'ended' }
}
