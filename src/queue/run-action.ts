/**
 * Runs one action of one item and persists what came of it: the draft in one transaction on success, a counted failure
 * with its earliest next try otherwise. Every write is conditional on the lease epoch. Decisions 0014, 0015, 0052, 0054.
 */
import type { Audit } from '../audit/entry.ts'
import type { Database } from '../db/database.ts'
import { backoffMs } from '../lib/backoff.ts'
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { recordPhaseChange } from './audit-phase-change.ts'
import type { QueueConfig } from './config.ts'
import { Draft } from './draft.ts'
import type { AnyItemType, ExecutorResult, Snapshot } from './item-type.ts'
import { type Lease, LeaseLost } from './lease.ts'
import { recordFailure } from './sql/record-failure.ts'
import { recordSuccess } from './sql/record-success.ts'
import { closeDimensions, saveDimensions } from './sql/save-dimensions.ts'
import { isTerminal } from './work-item.ts'

export interface ActionDependencies {
  readonly db: Database
  readonly config: QueueConfig
  readonly audit: Audit
  readonly log: Log
  readonly random: () => number
  /** Aborted when a stopping process can wait no longer for running actions. */
  readonly stopSignal: AbortSignal
}

/**
 * `again`: look once more. `ended`: terminal, the lease is given back. `waiting`: failed, the lease is given back and the
 * next try is due after `retryInMs`.
 */
export type ActionOutcome =
  | { readonly kind: 'again' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'waiting'; readonly retryInMs: number }

/** @throws LeaseLost, and whatever the database throws: then nothing was recorded and the lease runs out. */
export async function runAction(
  deps: ActionDependencies,
  type: AnyItemType,
  lease: Lease,
  snapshot: Snapshot<unknown>,
  action: string,
): Promise<ActionOutcome> {
  const draft = new Draft(snapshot.item, snapshot.detail, snapshot.dimensions)
  const signal = AbortSignal.any([lease.signal, deps.stopSignal])
  const outcome = await execute(deps, type, signal, snapshot, action, draft)
  // An interruption explains any failure: whoever claims the item next does the action, and nothing is counted here. An
  // action that had succeeded by then is recorded if the lease still holds.
  if (signal.aborted && outcome.kind === 'failure') throw new LeaseLost(snapshot.item.id)
  if (outcome.kind === 'failure') return persistFailure(deps, lease, snapshot, action, outcome)
  return persistSuccess(deps, type, lease, snapshot, action, draft)
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
  { log }: ActionDependencies,
  type: AnyItemType,
  signal: AbortSignal,
  snapshot: Snapshot<unknown>,
  action: string,
  draft: Draft<unknown>,
): Promise<Failure | { readonly kind: 'success' }> {
  const executor = type.executors[action]
  if (executor === undefined) {
    return failure('unknown_action', `The item type ${type.name} decided on ${action}, for which it has no executor.`)
  }
  try {
    const result: ExecutorResult = await executor(draft, { signal, now: snapshot.now, log })
    if (result.outcome === 'succeeded') return { kind: 'success' }
    return { ...failure(result.code, result.message), forGood: result.outcome === 'failed_for_good' }
  } catch (error) {
    if (error instanceof WorkQueueError) {
      const transient = error.failure === 'transient'
      return { ...failure(error.code, error.message), transient, retryAfterMs: error.retryAfterMs }
    }
    // A defect of ours: the stack goes to the log, the sentence to the item.
    log.error(
      { work_item_id: snapshot.item.id, action, error: messageOf(error), stack: stackOf(error) },
      'an executor threw',
    )
    return failure('internal_error', `The action ${action} failed unexpectedly: ${messageOf(error)}`)
  }
}

function failure(code: string, message: string): Failure {
  return { kind: 'failure', code, message, transient: false, forGood: false, retryAfterMs: undefined }
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined
}

async function persistSuccess(
  { db, audit }: ActionDependencies,
  type: AnyItemType,
  lease: Lease,
  { item }: Snapshot<unknown>,
  action: string,
  draft: Draft<unknown>,
): Promise<ActionOutcome> {
  const phase = await db.transaction().execute(async (tx) => {
    const recorded = await recordSuccess(tx, {
      id: item.id,
      epoch: lease.epoch,
      revision: item.revision,
      phase: draft.phase,
      resolution: draft.resolution,
    })
    if (recorded === null) throw new LeaseLost(item.id)
    await type.store.save(tx, item.id, draft.detail)
    await saveDimensions(tx, item.id, item.revision, draft.dimensionChanges)
    if (recorded.phase !== 'active') await closeDimensions(tx, item.id, recorded.phase)
    return recorded.phase
  })
  audit.record({
    event_type: 'action',
    work_item_id: item.id,
    item_type: item.itemType,
    action,
    outcome: 'succeeded',
    dimensions: Object.fromEntries(draft.dimensionChanges.map(({ dimension, status }) => [dimension, status])),
  })
  if (!isTerminal({ phase })) return { kind: 'again' }
  lease.end()
  recordPhaseChange(audit, item, phase, draft.resolution ?? phase)
  return { kind: 'ended' }
}

async function persistFailure(
  { db, config, audit, random }: ActionDependencies,
  lease: Lease,
  { item, now }: Snapshot<unknown>,
  action: string,
  { code, message, transient, forGood, retryAfterMs }: Failure,
): Promise<ActionOutcome> {
  const failures = 1 + (transient ? item.transientFailures : item.attempts)
  const failingForMs = item.failingSince === null ? 0 : now.getTime() - item.failingSince.getTime()
  const exhausted = transient ? failingForMs > config.transient_budget : failures >= config.max_attempts
  const waitMs = backoffMs(failures, { baseMs: config.backoff_base, maxMs: config.backoff_max }, random)
  const retryInMs = Math.max(waitMs, retryAfterMs ?? 0)
  const recorded = await recordFailure(db, {
    id: item.id,
    epoch: lease.epoch,
    revision: item.revision,
    code,
    message,
    transient,
    final: forGood || exhausted,
    retryInMs,
  })
  if (recorded === null) throw new LeaseLost(item.id)
  lease.end()
  audit.record({
    event_type: 'action',
    work_item_id: item.id,
    item_type: item.itemType,
    action,
    outcome: transient ? 'failed_transiently' : 'failed',
    error_code: code,
    message,
    facts: { failures, ...(recorded.phase === 'active' ? { retry_in_ms: retryInMs } : {}) },
  })
  if (recorded.phase === 'active') return { kind: 'waiting', retryInMs: recorded.overtaken ? 0 : retryInMs }
  recordPhaseChange(audit, item, recorded.phase, code)
  return { kind: 'ended' }
}
