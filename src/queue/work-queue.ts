/**
 * The queue as its callers see it: submit, look, retry, cancel, store an event. The REST API and the event rooms know
 * this interface and nothing behind it.
 */
import { WorkQueueError } from '../lib/errors.ts'
import { type Finding, summarize } from '../lib/finding.ts'
import type {
  AnyItemType,
  IncomingEvent,
  ItemScope,
  Presentation,
  Preview,
  Snapshot,
  SubmissionScope,
} from './item-type.ts'
import type { Phase, WorkItem } from './work-item.ts'

/** What a submission did (decision 0040). */
export type SubmissionOutcome = 'created' | 'unchanged' | 'updated' | 'retried'

export interface SubmissionResult {
  readonly outcome: SubmissionOutcome
  readonly item: WorkItem
}

/** What a submission would do. */
export interface Inspection extends Preview {
  /** null: it would be refused. */
  readonly outcome: SubmissionOutcome | null
}

/** What the caller may do, asked when the submission has been read and it is known what it is about. */
export interface Rights {
  /** @throws WorkQueueError `permission_denied`. */
  require(permission: string, scope: SubmissionScope): void
  holds(permission: string, scope: SubmissionScope): boolean
}

export interface InspectOptions {
  readonly signal: AbortSignal
  readonly rights?: Rights
  /** Show what is outside now as well, not only that it would change? Absent: no. */
  readonly mayReadContents?: (scope: SubmissionScope) => boolean
}

export interface ListFilter {
  /** Only these; absent = all that are handled here. */
  readonly itemTypes?: readonly string[]
  readonly phase?: Phase
  readonly callerIdentity?: string
  /** Only items of these concurrency keys. */
  readonly concurrencyKeys?: readonly string[]
  /** Substring of the dedup key, case ignored. A page looks at so many items only, and says where to go on. */
  readonly search?: string
  /** For callers who may see some items only; absent = all. A page may hold fewer items then, and still have a next. */
  readonly isVisible?: (itemType: string, scope: ItemScope) => boolean
  /** 1 to 100. */
  readonly limit: number
  /** `next` of the page before; items come newest first. */
  readonly before?: string
}

export interface ListedItem {
  readonly item: WorkItem
  readonly presentation: Presentation
}

export interface WorkQueue {
  /** The types this process serves, by name. */
  readonly itemTypes: ReadonlyMap<string, AnyItemType>
  /**
   * Accepts the desired state of one item. Returns after the commit. Without `rights` it is trusted to be allowed, but
   * for what takes more than `submit`.
   * @throws SubmissionRejected with all findings; WorkQueueError `item_type_not_handled`, `permission_denied`,
   * `owned_by_another_caller` (somebody else's live item, and no right to `overwrite`).
   */
  submit(itemType: string, body: unknown, caller: string, rights?: Rights): Promise<SubmissionResult>
  /** What submitting this now would do; writes nothing, here or outside. @throws like `submit`, but for the findings. */
  inspect(itemType: string, body: unknown, caller: string, options: InspectOptions): Promise<Inspection>
  /** What rules may be limited by, of an item that exists. */
  scopeOf(item: Pick<WorkItem, 'itemType' | 'dedupKey' | 'concurrencyKey'>): ItemScope
  /** @throws WorkQueueError `work_item_not_found`. */
  get(id: string): Promise<{ readonly snapshot: Snapshot<unknown>; readonly presentation: Presentation }>
  /** @throws WorkQueueError `work_item_not_found`; without the detail, for a permission check. */
  getItem(id: string): Promise<WorkItem>
  list(filter: ListFilter): Promise<{ readonly items: readonly ListedItem[]; readonly next: string | null }>
  /**
   * Brings a failed or cancelled item back to life, or makes an active one try now.
   * @throws WorkQueueError `work_item_not_found`, `not_retryable` (completed), `superseded` (a newer live item exists).
   */
  retry(id: string, caller: string): Promise<WorkItem>
  /** Asks the item to end. @throws WorkQueueError `work_item_not_found`, `not_cancellable` (already terminal). */
  cancel(id: string, caller: string): Promise<WorkItem>
  /** Stores an event for every item it concerns and wakes them. Returns their ids; none = nobody's. */
  ingest(event: IncomingEvent): Promise<readonly string[]>
  /** The same for several at once, which share their commit. Each has its own outcome, in their order; never rejects. */
  ingestAll(events: readonly IncomingEvent[]): Promise<readonly PromiseSettledResult<readonly string[]>[]>
}

export class SubmissionRejected extends WorkQueueError {
  readonly findings: readonly Finding[]
  constructor(findings: readonly Finding[]) {
    super('submission_rejected', `The submission was refused: ${summarize(findings)}`)
    this.findings = findings
  }
}
