/**
 * The work item, the unit of work of the queue, and the pure questions one can ask of it. It carries only what every
 * type of work has; what is special to one type lives in that type's detail table (decision 0007).
 */

/** Is it done, and how? Only `active` items are worked on (decisions 0002 and 0037). */
export type Phase = 'active' | 'completed' | 'failed' | 'cancelled'

export const PHASES = ['active', 'completed', 'failed', 'cancelled'] as const satisfies readonly Phase[]

export interface LastError {
  readonly code: string
  readonly message: string
  /** ISO 8601, the database's clock. */
  readonly at: string
}

export interface WorkItem {
  /** UUID version 7. */
  readonly id: string
  readonly itemType: string
  readonly phase: Phase
  /** Why it is terminal: `merged`, `closed`, `empty`, `cancelled_by_caller`, …; null while active. */
  readonly resolution: string | null
  /** Somebody must look (decision 0049). Stale `true` is harmless, stale `false` would be a lost item. */
  readonly actionable: boolean
  /** Failures in a row of the current action; 0 after a success (decision 0014). */
  readonly attempts: number
  /** Transient failures in a row; they spend no attempt. */
  readonly transientFailures: number
  /** Since when it fails transiently, without a success between; null when it does not. */
  readonly failingSince: Date | null
  readonly lastError: LastError | null
  /** Not before this instant, after a failure. */
  readonly retryAt: Date | null
  /** Since when, or from when on, somebody must look; says nothing while `actionable` is false. */
  readonly dueAt: Date
  readonly leasedUntil: Date | null
  /** +1 at every claim; every write of the processing loop is conditional on it (fencing). */
  readonly leaseEpoch: bigint
  /** +1 at every write by a caller (submission, retry, cancel). */
  readonly revision: bigint
  /** +1 at every stored event. */
  readonly wakeCount: bigint
  /** The natural identity: `mr:{project}:{source_branch}`. */
  readonly dedupKey: string
  /** Which life of the same identity this is, from 1. */
  readonly generation: number
  /** `{dedup_key}:{generation}`, derived by the database (decision 0039). */
  readonly idempotencyKey: string
  /** SHA-256 (hex) over everything the caller controls. */
  readonly contentHash: string
  /** Items of one key share a limit of how many one process works on at a time; null = none. */
  readonly concurrencyKey: string | null
  readonly parentId: string | null
  readonly callerIdentity: string
  readonly createdAt: Date
  readonly updatedAt: Date
  /** When it became terminal; null while active. */
  readonly endedAt: Date | null
  /** Time of the newest event that was applied; older ones are stale. */
  readonly lastEventAt: Date | null
}
