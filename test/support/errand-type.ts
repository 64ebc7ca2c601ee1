/**
 * A second item type that shares no code with `mr`: errands. It exists to prove that the queue knows no item type, and to
 * let tests decide what each action does. Its detail table is made by the test that uses it.
 */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { z } from 'zod'
import type { Database } from '../../src/db/database.ts'
import { actionableVariants } from '../../src/queue/dimension.ts'
import type { EventResult, Executor, ItemScope, ItemType, PendingEvent } from '../../src/queue/item-type.ts'

const submissionSchema = z.strictObject({
  item_type: z.literal('errand'),
  name: z.string().min(1).max(100),
  text: z.string().max(1_000),
})
export type ErrandSubmission = z.infer<typeof submissionSchema>

export interface ErrandDetail {
  readonly name: string
  readonly text: string
  /** The text of the last run; written by the executor. */
  doneText: string | null
}

export interface ErrandBehaviour {
  run: Executor<ErrandDetail>
  check: Executor<ErrandDetail>
  stop: Executor<ErrandDetail>
  handle: (event: PendingEvent) => EventResult
}

/** Runs once and completes. */
export const finishErrand: Executor<ErrandDetail> = async (draft) => {
  draft.detail.doneText = draft.detail.text
  draft.settle('needs_run')
  draft.finish('completed', 'done')
  return { outcome: 'succeeded' }
}

/** Runs once and waits for whatever comes next. */
export const runAndWait: Executor<ErrandDetail> = async (draft) => {
  draft.detail.doneText = draft.detail.text
  draft.settle('needs_run')
  return { outcome: 'succeeded' }
}

const dimensions = [
  { name: 'needs_stop', absent: 'not_needed' },
  { name: 'needs_run', absent: 'needed' },
  { name: 'needs_check', absent: 'not_needed' },
] as const

export async function createErrandTable(db: Database): Promise<void> {
  await sql`
    create table errand_details (
      work_item_id uuid primary key references work_items (id) on delete cascade,
      name text not null,
      text text not null,
      done_text text
    )`.execute(db)
}

function scopeOfName(name: string): ItemScope {
  const [project, branch] = name.split('/')
  return project === undefined || branch === undefined ? {} : { project, branch }
}

/** `behaviour` may be changed by the test while the type is in use. */
export function createErrandType(behaviour: Partial<ErrandBehaviour> = {}): {
  type: ItemType<ErrandSubmission, ErrandDetail>
  behaviour: ErrandBehaviour
} {
  const settled: ErrandBehaviour = {
    run: finishErrand,
    check: async (draft) => {
      draft.settle('needs_check')
      return { outcome: 'succeeded' }
    },
    stop: async (draft) => {
      draft.settle('needs_stop')
      draft.finish('cancelled', 'cancelled_by_caller')
      return { outcome: 'succeeded' }
    },
    handle: (event) => ({
      phase: null,
      dimensions: [{ dimension: 'needs_check', status: 'true' }],
      trigger: event.eventType,
    }),
    ...behaviour,
  }
  const type: ItemType<ErrandSubmission, ErrandDetail> = {
    name: 'errand',
    submissionSchema,
    dimensions,
    onSubmission: { needed: ['needs_run'], cleared: ['needs_stop'] },
    onCancel: 'needs_stop',
    scopeOfSubmission: ({ name }) => scopeOfName(name),
    scopeOfItem: ({ dedupKey }) => scopeOfName(dedupKey.slice('errand:'.length)),
    identify: ({ name, text }) => {
      // `shop/milk` is an errand to the shop, and those share a limit.
      const [place, rest] = name.split('/')
      return {
        dedupKey: `errand:${name}`,
        contentHash: createHash('sha256').update(text).digest('hex'),
        ...(rest === undefined || place === undefined ? {} : { concurrencyKey: place }),
      }
    },
    inspect: async ({ text }) =>
      text.includes('forbidden') ? [{ code: 'forbidden_text', path: '/text', message: 'Leave it out.' }] : [],
    details,
    decide: ({ item, dimensions: rows, now }) => {
      if (item.phase !== 'active') return null
      const next = dimensions.find((declaration) => actionableVariants(declaration, rows, now).length > 0)
      return next === undefined ? null : next.name.replace('needs_', '')
    },
    executors: {
      run: (draft, context) => settled.run(draft, context),
      check: (draft, context) => settled.check(draft, context),
      stop: (draft, context) => settled.stop(draft, context),
    },
    events: {
      resolve: async (db, event) => {
        const { rows } = await sql<{ id: string }>`
          select id from work_items where dedup_key = ${`errand:${nameIn(event.body)}`} and phase = 'active'`.execute(
          db,
        )
        return rows.map((row) => row.id)
      },
      handle: (event) => settled.handle(event),
    },
    present: ({ detail }) => ({ summary: detail.name, links: [], blockers: [], detail: { name: detail.name } }),
  }
  return { type, behaviour: settled }
}

const rowSchema = z.object({ name: z.string(), text: z.string(), done_text: z.string().nullable() })

function nameIn(body: unknown): string {
  return z.object({ name: z.string() }).parse(body).name
}

const details: ItemType<ErrandSubmission, ErrandDetail>['details'] = {
  table: 'errand_details',
  submitted: ['name', 'text'],
  observed: ['done_text'],
  fromSubmission: ({ name, text }) => ({ name, text }),
  fromDetail: ({ doneText }) => ({ done_text: doneText }),
  toDetail(row) {
    const { name, text, done_text } = rowSchema.parse(row)
    return { name, text, doneText: done_text }
  },
}
