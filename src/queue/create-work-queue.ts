/**
 * Puts the queue's parts together behind the interface its callers know. Every write is committed, then audited, then the
 * item is woken, in this order: a wake-up before the commit would find nothing.
 */
import type { Audit } from '../audit/entry.ts'
import type { Database, Transaction } from '../db/database.ts'
import { WorkQueueError } from '../lib/errors.ts'
import type { EventCounts } from '../lib/event-counts.ts'
import { type Finding, MAX_FINDINGS } from '../lib/finding.ts'
import { readShape } from '../lib/read-shape.ts'
import { findPage } from './find-page.ts'
import { createIngestEvents } from './ingest-events.ts'
import type { AnyItemType } from './item-type.ts'
import type { OpenItems } from './open-items.ts'
import type { Pause } from './pause.ts'
import { presentItem } from './present-item.ts'
import { previewSubmission } from './preview-submission.ts'
import type { ProcessingManager } from './processing-manager.ts'
import { createReadObservations } from './sql/read-observations.ts'
import { readWorkItem } from './sql/read-work-item.ts'
import { requireDimensions } from './sql/require-dimensions.ts'
import { isUniqueViolation } from './sql/unique-violation.ts'
import { wakeByCaller } from './sql/wake-by-caller.ts'
import { createSubmitWorkItem, type Submitter } from './submit-work-item.ts'
import type { WakeHints } from './wake-hints.ts'
import type { Phase, WorkItem } from './work-item.ts'
import { type ListedItem, type ListFilter, type Rights, SubmissionRejected, type WorkQueue } from './work-queue.ts'

export interface WorkQueueDependencies {
  readonly db: Database
  readonly itemTypes: ReadonlyMap<string, AnyItemType>
  readonly audit: Audit
  /** The workers of this process. */
  readonly manager: Pick<ProcessingManager, 'reserve' | 'notify' | 'isBusy'>
  /** Tells other processes of what these workers do not take at once. */
  readonly hints: WakeHints
  readonly openItems: OpenItems
  readonly findPause: (item: WorkItem) => Pause | null
  readonly leaseMs: number
  readonly counts: EventCounts
}

export function createWorkQueue(dependencies: WorkQueueDependencies): WorkQueue {
  const { db, itemTypes, audit, manager, hints, findPause } = dependencies
  const submitWorkItem = createSubmitWorkItem(dependencies)
  const readObservations = createReadObservations(db, itemTypes)

  async function getItem(id: string): Promise<WorkItem> {
    const read = await readWorkItem(db, id)
    if (read === null || !itemTypes.has(read.item.itemType)) throw notFound(id)
    return read.item
  }

  /** Retry and cancel: the same write, with other phases, dimensions and refusals. */
  async function changeByCaller(id: string, caller: string, change: CallerChange): Promise<WorkItem> {
    const before = await getItem(id)
    const type = typeOf(itemTypes, before.itemType)
    const item = await runChange(db, type, before, change)
    audit.record({
      event_type: 'request',
      work_item_id: id,
      item_type: item.itemType,
      caller,
      action: change.name,
      outcome: 'accepted',
      phase_from: before.phase,
      phase_to: item.phase,
    })
    manager.notify(id)
    if (manager.isBusy()) hints.send()
    return item
  }

  return {
    itemTypes,
    getItem,
    async submit(itemType, body, caller, rights = PLAIN_RIGHTS) {
      const type = typeOf(itemTypes, itemType)
      const submission = readSubmission(type, body)
      const submitter = authorize(type, submission, caller, rights)
      const findings = (await type.inspect(submission)).slice(0, MAX_FINDINGS)
      if (findings.length > 0) {
        recordRefusal(audit, itemType, caller, findings)
        throw new SubmissionRejected(findings)
      }
      const result = await submitWorkItem(type, submission, submitter)
      audit.record({
        event_type: 'submission',
        work_item_id: result.item.id,
        item_type: itemType,
        caller,
        action: 'submit',
        outcome: result.outcome,
        facts: { dedup_key: result.item.dedupKey, generation: result.item.generation },
      })
      return result
    },
    async inspect(itemType, body, caller, { rights = PLAIN_RIGHTS, mayReadContents = () => false, signal }) {
      const type = typeOf(itemTypes, itemType)
      const submission = readSubmission(type, body)
      const submitter = authorize(type, submission, caller, rights)
      const withContents = mayReadContents(type.scopeOfSubmission(submission))
      return previewSubmission(db, type, submission, submitter, { signal, withContents })
    },
    scopeOf: (item) => typeOf(itemTypes, item.itemType).scopeOfItem(item),
    async get(id) {
      const observation = (await readObservations([id])).get(id)
      if (observation === undefined) throw notFound(id)
      const { snapshot, unreadable } = observation
      if (unreadable !== null) throw new WorkQueueError('unreadable_item', unreadable)
      return { snapshot, presentation: presentItem(typeOf(itemTypes, snapshot.item.itemType), snapshot, findPause) }
    },
    list: (filter) => listPage(dependencies, readObservations, filter),
    retry: (id, caller) => changeByCaller(id, caller, RETRY),
    cancel: (id, caller) => changeByCaller(id, caller, CANCEL),
    ...createIngestEvents(dependencies),
  }
}

interface CallerChange {
  readonly name: 'retry' | 'cancel'
  readonly from: readonly Phase[]
  readonly dimensions: (type: AnyItemType) => {
    readonly needed: readonly string[]
    readonly cleared: readonly string[]
  }
  readonly refused: (item: WorkItem) => WorkQueueError
}

const RETRY: CallerChange = {
  name: 'retry',
  from: ['active', 'failed', 'cancelled'],
  dimensions: (type) => type.onSubmission,
  refused: ({ id, phase }) =>
    new WorkQueueError(
      'not_retryable',
      `Work item ${id} is ${phase}: what it was for is done. Submit again to start anew.`,
    ),
}

const CANCEL: CallerChange = {
  name: 'cancel',
  from: ['active', 'failed'],
  dimensions: (type) => ({ needed: [type.onCancel], cleared: [] }),
  refused: ({ id, phase }) => new WorkQueueError('not_cancellable', `Work item ${id} is ${phase} already.`),
}

async function runChange(db: Database, type: AnyItemType, before: WorkItem, change: CallerChange): Promise<WorkItem> {
  try {
    return await db.transaction().execute(async (tx: Transaction) => {
      const item = await wakeByCaller(tx, before.id, change.from)
      if (item === null) throw change.refused(before)
      const { needed, cleared } = change.dimensions(type)
      await requireDimensions(tx, item.id, item.revision, needed, cleared)
      return item
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw new WorkQueueError(
      'superseded',
      `Work item ${before.id} cannot come back: a newer one for ${before.dedupKey} is at work.`,
      { cause: error },
    )
  }
}

const PLAIN_RIGHTS: Rights = {
  require(permission) {
    if (permission === 'submit') return
    throw new WorkQueueError('permission_denied', `This submission takes the permission "${permission}".`)
  },
  holds: () => false,
}

/** @throws WorkQueueError `permission_denied`. */
function authorize(type: AnyItemType, submission: unknown, name: string, rights: Rights): Submitter {
  const scope = type.scopeOfSubmission(submission)
  rights.require('submit', scope)
  for (const permission of type.requires?.(submission) ?? []) rights.require(permission, scope)
  return { name, mayTakeOver: () => rights.holds('overwrite', scope) }
}

function readSubmission(type: AnyItemType, body: unknown): unknown {
  const reading = readShape(type.submissionSchema, body, 'the body')
  if (!reading.ok) throw new SubmissionRejected(reading.findings)
  return reading.value
}

function recordRefusal(audit: Audit, itemType: string, caller: string, findings: readonly Finding[]): void {
  audit.record({
    event_type: 'submission',
    item_type: itemType,
    caller,
    action: 'submit',
    outcome: 'refused',
    facts: { findings: findings.map(({ code, path }) => ({ code, path })) },
  })
}

async function listPage(
  { db, itemTypes, findPause }: WorkQueueDependencies,
  readObservations: ReturnType<typeof createReadObservations>,
  filter: ListFilter,
): Promise<{ readonly items: readonly ListedItem[]; readonly next: string | null }> {
  const handled = [...itemTypes.keys()]
  const visible = filter.itemTypes?.filter((name) => itemTypes.has(name)) ?? handled
  const { ids, next } = await findPage(db, itemTypes, { ...filter, itemTypes: visible })
  const observations = await readObservations(ids)
  const items = ids.flatMap((id) => {
    const observation = observations.get(id)
    // Removed since the page was found, or spoilt: its own page says what is wrong with it.
    if (observation === undefined || observation.unreadable !== null) return []
    const { snapshot } = observation
    const presentation = presentItem(typeOf(itemTypes, snapshot.item.itemType), snapshot, findPause)
    return [{ item: snapshot.item, presentation }]
  })
  return { items, next }
}

function typeOf(itemTypes: ReadonlyMap<string, AnyItemType>, name: string): AnyItemType {
  const type = itemTypes.get(name)
  if (type === undefined) {
    const handled = [...itemTypes.keys()].join(', ') || 'none'
    throw new WorkQueueError('item_type_not_handled', `The item type ${name} is not handled here; handled: ${handled}.`)
  }
  return type
}

function notFound(id: string): WorkQueueError {
  return new WorkQueueError('work_item_not_found', `There is no work item ${id}.`)
}
