/**
 * What an item type must offer. This is the whole contract between the queue and the kinds of work it runs: the queue
 * imports no item type, an item type imports no other, and `app/compose` hands the list of types to the queue. Decisions
 * 0004, 0007, 0008, 0015, 0033.
 *
 * An item type owns one detail table (`{name}_details`, one row an item) and describes it in `details`.
 */
import type { ZodType } from 'zod'
import type { Database } from '../db/database.ts'
import type { Finding } from '../lib/finding.ts'
import type { Log } from '../lib/log.ts'
import type { DetailTable } from './detail-table.ts'
import type { Dimension, DimensionDeclaration } from './dimension.ts'
import type { Draft } from './draft.ts'
import type { Herder } from './herder.ts'
import type { Phase, WorkItem } from './work-item.ts'

/** Everything known about an item at one instant of the database's clock. */
export interface Snapshot<Detail> {
  readonly item: WorkItem
  readonly detail: Detail
  readonly dimensions: readonly Dimension[]
  /** The database's clock when this was read; pure code uses it and no other. */
  readonly now: Date
}

export interface ExecutorContext {
  /** Aborted when the lease is lost or the process stops: no outside write may start after that. Ask for it anew each time. */
  readonly signal: AbortSignal
  /** The database's clock when the action was decided. */
  readonly now: Date
  readonly log: Log
}

/** `failed` spends an attempt and is tried again; `failed_for_good` ends the item. A throw is classed by its error. */
export type ExecutorResult =
  | { readonly outcome: 'succeeded' }
  | { readonly outcome: 'failed' | 'failed_for_good'; readonly code: string; readonly message: string }

/**
 * Does one action. Idempotent: it looks at what is there before it writes outside, because a crash may have come
 * between its last write and the record of it. It changes its draft; the queue persists the draft in one transaction.
 */
export type Executor<Detail> = ExecutorMethod<Detail>['execute']

/** Declared as a method, so that a type's executors fit where only `AnyItemType` is known. */
interface ExecutorMethod<Detail> {
  execute(draft: Draft<Detail>, context: ExecutorContext): Promise<ExecutorResult>
}

/** The stored form of an event, as a handler reads it. */
export interface PendingEvent {
  readonly id: string
  /** `merge_request`, `pipeline`, `build`, `note`, `push`, … */
  readonly eventType: string
  /** When it happened, by the sender's clock, clamped to the database's now. */
  readonly eventAt: Date
  readonly body: unknown
}

export interface DimensionUpdate {
  readonly dimension: string
  readonly variant?: string
  readonly status: DimensionStatusInput
  /** Put off for this long; absent: not put off. */
  readonly deferMs?: number
  readonly note?: string
}
type DimensionStatusInput = 'true' | 'false'

/** What an event means for one item; a value, applied by the queue (decisions 0033 and 0038). */
export interface EventResult {
  /** Only for what is final outside; null leaves the phase alone. */
  readonly phase: Exclude<Phase, 'active' | 'failed'> | null
  readonly resolution?: string
  readonly dimensions: readonly DimensionUpdate[]
  /** For the audit: what set this off. */
  readonly trigger: string
}

/** An event as it arrives, before anybody knows whom it concerns. */
export interface IncomingEvent {
  readonly eventType: string
  readonly eventAt: Date
  readonly body: unknown
  /** The sender's id of this delivery, for people and duplicates; null when it has none. */
  readonly sourceId: string | null
}

/** What waits on whom: shown the same in API, CLI and pages. */
export interface Blocker {
  /** Stable, snake_case: `waiting_for_pipeline`, `conflict`, … */
  readonly code: string
  readonly message: string
  readonly since: Date | null
  /** Who can clear it: `the service`, `a reviewer`, `CI`, … */
  readonly clearedBy: string
  /** What it is about: the jobs that failed. Absent: nothing that has an address of its own. */
  readonly links?: readonly Link[]
}

export interface Link {
  readonly name: string
  readonly url: string
}

export interface Presentation {
  /** One line: what this item is about. */
  readonly summary: string
  readonly links: readonly Link[]
  readonly blockers: readonly Blocker[]
  /** The detail for lists and pages, snake_case, without file contents. */
  readonly detail: Readonly<Record<string, unknown>>
}

/** What a submission would do, found out without writing anything. */
export interface Preview {
  /** Everything that is wrong with it, also against what is outside right now; none = it would be done. */
  readonly findings: readonly Finding[]
  /** The rules that hold for it, snake_case, for people. */
  readonly policy: Readonly<Record<string, unknown>>
  /** What would change outside, one entry a thing that it names, snake_case. */
  readonly changes: readonly Readonly<Record<string, unknown>>[]
}

export interface PreviewOptions {
  readonly signal: AbortSignal
  /** Show what is outside now as well, not only that it would change: for callers who may read it. */
  readonly withContents: boolean
}

/** What the rights of a caller may be limited by. What a type does not have is left out: then no limited right covers it. */
export interface ItemScope {
  readonly project?: string
  readonly branch?: string
}

export interface SubmissionScope extends ItemScope {
  /** Every file that it touches. */
  readonly paths?: readonly string[]
}

export interface Identity {
  /** The natural identity, without generation. */
  readonly dedupKey: string
  /** Over everything the caller controls. */
  readonly contentHash: string
  /** Items of one key share `concurrency_per_key`: of one project, of one host. Absent = no limit but the workers'. */
  readonly concurrencyKey?: string
}

export interface ItemType<Submission, Detail> {
  /** The `item_type` value, the folder's name and the prefix of the detail table. */
  readonly name: string
  /** Reads what a caller sent, strictly: unknown keys are errors. `item_type` itself is one of its keys. */
  readonly submissionSchema: ZodType<Submission>
  readonly dimensions: readonly DimensionDeclaration[]
  /** Dimensions that a new or changed submission sets to 'true', and those it clears. */
  readonly onSubmission: { readonly needed: readonly string[]; readonly cleared: readonly string[] }
  /** Dimension that a caller's cancel sets to 'true'; its action ends the item. */
  readonly onCancel: string

  identify(submission: Submission): Identity
  scopeOfSubmission(submission: Submission): SubmissionScope
  /** Of an item that exists, from its identity alone: what was submitted first decided who may touch it. */
  scopeOfItem(item: Pick<WorkItem, 'dedupKey' | 'concurrencyKey'>): ItemScope
  /** Everything that is wrong with a submission; none = accepted. May ask outside (does the project exist?). */
  inspect(submission: Submission): Promise<readonly Finding[]>
  /** Names of the permissions it takes beyond `submit`. Absent: never any. */
  requires?(submission: Submission): readonly string[]
  /** Of an inspected submission without findings. Absent: a dry run shows the findings only. */
  preview?(submission: Submission, options: PreviewOptions): Promise<Preview>

  /** The detail table, as data. */
  readonly details: DetailTable<Submission, Detail>

  /** Pure: the next action, or null. Never acts on a terminal item. */
  decide(snapshot: Snapshot<Detail>): string | null
  /** By action name. */
  readonly executors: Readonly<Record<string, Executor<Detail>>>

  readonly events: {
    /** Ids of active items the event concerns. */
    resolve(db: Database, event: IncomingEvent): Promise<readonly string[]>
    /** Read-only and pure over its arguments. */
    handle(event: PendingEvent, snapshot: Snapshot<Detail>): EventResult
  }

  /** What it can tell about failed CI jobs; absent: it has nothing to do with CI. */
  readonly herder?: Herder

  /** Pure: how the item presents itself, and what it waits for. */
  present(snapshot: Snapshot<Detail>): Presentation
}

/** An item type whose own types are known only to itself. */
export type AnyItemType = ItemType<unknown, unknown>
