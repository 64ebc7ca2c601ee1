/**
 * A WorkQueue in memory, for tests of the rooms in front of it. It keeps the promises that callers can see (outcomes,
 * paging, refusals, errors by code) and does no work: what the queue would decide in time, the test sets with `change`.
 */
import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { WorkQueueError } from '../../src/lib/errors.ts'
import type { Finding } from '../../src/lib/finding.ts'
import { readShape } from '../../src/lib/read-shape.ts'
import type { Dimension } from '../../src/queue/dimension.ts'
import type {
  AnyItemType,
  Blocker,
  IncomingEvent,
  ItemScope,
  Presentation,
  Snapshot,
} from '../../src/queue/item-type.ts'
import type { WorkItem } from '../../src/queue/work-item.ts'
import {
  type Inspection,
  type InspectOptions,
  type ListedItem,
  type ListFilter,
  type Rights,
  SubmissionRejected,
  type SubmissionResult,
  type WorkQueue,
} from '../../src/queue/work-queue.ts'
import { fakeHerder } from './fake-herder.ts'
import { newWorkItem } from './work-item.ts'

const noteSchema = z.strictObject({
  item_type: z.literal('note'),
  name: z.string().min(1).max(50).describe('What it is called.'),
  text: z.string().describe('What it says.'),
  tags: z.array(z.strictObject({ label: z.string() })).optional(),
})

/** A type of work that exists only here: a named note. Texts that hold `forbidden` are refused by its inspection. */
const noteType: AnyItemType = { ...fakeType('note', noteSchema), herder: fakeHerder }
/** A second one, to tell permissions apart. */
const memoType = fakeType('memo', noteSchema.extend({ item_type: z.literal('memo') }))

export class FakeQueue implements WorkQueue {
  readonly itemTypes: ReadonlyMap<string, AnyItemType>
  readonly events: IncomingEvent[] = []
  /** Every accepted call of `submit`, `retry` and `cancel`, with the caller's name. */
  readonly calls: { readonly what: string; readonly caller: string }[] = []
  readonly #items = new Map<string, WorkItem>()
  readonly #presentations = new Map<string, Presentation>()
  #failure: { readonly error: unknown } | null = null

  constructor(types: readonly AnyItemType[] = [noteType, memoType]) {
    this.itemTypes = new Map(types.map((type) => [type.name, type]))
  }

  change(id: string, changes: Partial<WorkItem>): void {
    this.#replace(this.#find(id), changes)
  }

  present(id: string, changes: Partial<Presentation>): void {
    this.#presentations.set(id, { ...this.#presentationOf(this.#find(id)), ...changes })
  }

  /** The next call of any method throws this. */
  failNext(error: unknown): void {
    this.#failure = { error }
  }

  async inspect(itemType: string, body: unknown, _caller: string, { rights }: InspectOptions): Promise<Inspection> {
    const { type, submission } = this.#read(itemType, body)
    rights?.require('submit', type.scopeOfSubmission(submission))
    const findings = await type.inspect(submission)
    if (findings.length > 0) return { outcome: null, findings, policy: {}, changes: [] }
    const live = this.#findLive(type.identify(submission).dedupKey)
    return { outcome: live === undefined ? 'created' : 'updated', findings, policy: {}, changes: [] }
  }

  async submit(itemType: string, body: unknown, caller: string, rights?: Rights): Promise<SubmissionResult> {
    this.#maybeFail()
    const { type, submission } = this.#read(itemType, body)
    rights?.require('submit', type.scopeOfSubmission(submission))
    const findings = await type.inspect(submission)
    if (findings.length > 0) throw new SubmissionRejected(findings)
    this.calls.push({ what: 'submit', caller })
    const { dedupKey, contentHash } = type.identify(submission)
    const known = [...this.#items.values()].filter((item) => item.dedupKey === dedupKey)
    const live = this.#findLive(dedupKey)
    if (live?.phase === 'active' && live.contentHash === contentHash) return { outcome: 'unchanged', item: live }
    if (live !== undefined) {
      const outcome = live.phase === 'failed' ? 'retried' : 'updated'
      return { outcome, item: this.#replace(live, { phase: 'active', contentHash, revision: live.revision + 1n }) }
    }
    const item = newWorkItem({
      id: uuidv7(),
      itemType,
      dedupKey,
      contentHash,
      callerIdentity: caller,
      generation: known.length + 1,
      revision: 1n,
      createdAt: new Date(),
    })
    this.#items.set(item.id, item)
    return { outcome: 'created', item }
  }

  scopeOf(item: Pick<WorkItem, 'itemType' | 'dedupKey' | 'concurrencyKey'>): ItemScope {
    return this.itemTypes.get(item.itemType)?.scopeOfItem(item) ?? {}
  }

  async getItem(id: string): Promise<WorkItem> {
    return this.#find(id)
  }

  async get(id: string): Promise<{ snapshot: Snapshot<unknown>; presentation: Presentation }> {
    const item = this.#find(id)
    const dimensions: Dimension[] = [
      { dimension: 'needs_look', variant: '', status: 'true', pendingUntil: null, note: null, updatedAt: new Date(0) },
    ]
    return { snapshot: { item, detail: {}, dimensions, now: new Date() }, presentation: this.#presentationOf(item) }
  }

  async list(filter: ListFilter): Promise<{ items: ListedItem[]; next: string | null }> {
    this.#maybeFail()
    const { itemTypes, phase, callerIdentity, concurrencyKeys, search, limit, before } = filter
    const fitting = [...this.#items.values()]
      .sort((left, right) => (left.id < right.id ? 1 : -1))
      .filter((item) => itemTypes === undefined || itemTypes.includes(item.itemType))
      .filter((item) => phase === undefined || item.phase === phase)
      .filter((item) => callerIdentity === undefined || item.callerIdentity === callerIdentity)
      .filter((item) => concurrencyKeys === undefined || concurrencyKeys.includes(item.concurrencyKey ?? ''))
      .filter((item) => search === undefined || item.dedupKey.toLowerCase().includes(search.toLowerCase()))
      .filter((item) => before === undefined || item.id < before)
      .filter((item) => filter.isVisible?.(item.itemType, this.scopeOf(item)) ?? true)
    const page = fitting.slice(0, limit)
    return {
      items: page.map((item) => ({ item, presentation: this.#presentationOf(item) })),
      next: fitting.length > limit ? (page.at(-1)?.id ?? null) : null,
    }
  }

  async retry(id: string, caller: string): Promise<WorkItem> {
    const item = this.#find(id)
    if (item.phase === 'completed') throw new WorkQueueError('not_retryable', `Work item ${id} is completed.`)
    this.calls.push({ what: 'retry', caller })
    return this.#replace(item, { phase: 'active', resolution: null, revision: item.revision + 1n })
  }

  async cancel(id: string, caller: string): Promise<WorkItem> {
    const item = this.#find(id)
    if (item.phase !== 'active') throw new WorkQueueError('not_cancellable', `Work item ${id} is ${item.phase}.`)
    this.calls.push({ what: 'cancel', caller })
    return this.#replace(item, { actionable: true, revision: item.revision + 1n })
  }

  async ingest(event: IncomingEvent): Promise<readonly string[]> {
    this.#maybeFail()
    this.events.push(event)
    return [...this.#items.values()].filter(({ phase }) => phase === 'active').map(({ id }) => id)
  }

  ingestAll(events: readonly IncomingEvent[]): Promise<readonly PromiseSettledResult<readonly string[]>[]> {
    return Promise.allSettled(events.map((event) => this.ingest(event)))
  }

  #maybeFail(): void {
    if (this.#failure === null) return
    const { error } = this.#failure
    this.#failure = null
    throw error
  }

  #find(id: string): WorkItem {
    this.#maybeFail()
    const item = this.#items.get(id)
    if (item === undefined) throw new WorkQueueError('work_item_not_found', `There is no work item ${id}.`)
    return item
  }

  #read(itemType: string, body: unknown): { readonly type: AnyItemType; readonly submission: unknown } {
    const type = this.itemTypes.get(itemType)
    if (type === undefined) {
      const known = [...this.itemTypes.keys()].join(', ')
      throw new WorkQueueError('item_type_not_handled', `"${itemType}" is not handled here; known: ${known}.`)
    }
    const reading = readShape(type.submissionSchema, body, 'the body')
    if (!reading.ok) throw new SubmissionRejected(reading.findings)
    return { type, submission: reading.value }
  }

  #findLive(dedupKey: string): WorkItem | undefined {
    return [...this.#items.values()].find(
      (item) => item.dedupKey === dedupKey && (item.phase === 'active' || item.phase === 'failed'),
    )
  }

  #replace(item: WorkItem, changes: Partial<WorkItem>): WorkItem {
    const changed = { ...item, ...changes, updatedAt: new Date() }
    this.#items.set(item.id, changed)
    return changed
  }

  #presentationOf(item: WorkItem): Presentation {
    return this.#presentations.get(item.id) ?? { summary: item.dedupKey, links: [], blockers: [], detail: {} }
  }
}

export const aBlocker: Blocker = {
  code: 'waiting_for_pipeline',
  message: 'The pipeline is running.',
  since: new Date('2026-03-02T10:00:00Z'),
  clearedBy: 'CI',
}

function scopeOfName(name: string): ItemScope {
  const [project, branch] = name.split('/')
  return project === undefined || branch === undefined ? {} : { project, branch }
}

function fakeType(name: string, submissionSchema: z.ZodType<{ name: string; text: string }>): AnyItemType {
  const unused = (): never => {
    throw new Error('the fake queue does no work')
  }
  return {
    name,
    submissionSchema,
    dimensions: [],
    onSubmission: { needed: [], cleared: [] },
    onCancel: 'needs_cancel',
    identify(submission) {
      const { name: key, text } = submissionSchema.parse(submission)
      return { dedupKey: `${name}:${key}`, contentHash: text }
    },
    // A note called `team/greeting` is of the project `team`.
    scopeOfSubmission: (submission) => scopeOfName(submissionSchema.parse(submission).name),
    scopeOfItem: ({ dedupKey }) => scopeOfName(dedupKey.slice(name.length + 1)),
    async inspect(submission) {
      const { text } = submissionSchema.parse(submission)
      const finding: Finding = {
        code: 'text_forbidden',
        path: '/text',
        message: 'The text is forbidden; write another.',
      }
      return text.includes('forbidden') ? [finding] : []
    },
    details: {
      table: `${name}_details`,
      submitted: [],
      observed: [],
      fromSubmission: unused,
      fromDetail: unused,
      toDetail: unused,
    },
    decide: unused,
    executors: {},
    events: { resolve: unused, handle: unused },
    present: unused,
  }
}
