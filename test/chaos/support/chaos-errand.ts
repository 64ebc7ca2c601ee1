/**
 * The errand of the chaos workers. Its text says how the run goes, so that a script decides it at the submission:
 * `mode:milliseconds:anything`. An event asks for a check of its own, a variant named after it, so that the table of
 * dimensions shows exactly which events were applied.
 */
import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { z } from 'zod'
import { actionableVariants } from '../../../src/queue/dimension.ts'
import type { Draft } from '../../../src/queue/draft.ts'
import type { AnyItemType, ExecutorContext, ExecutorResult } from '../../../src/queue/item-type.ts'
import { createErrandType, type ErrandDetail } from '../../support/errand-type.ts'
import { appendEffect, type Effect, now } from './journal.ts'

/**
 * `finish` completes, `wait` stays active. `block` keeps the whole process from running, deaf to its signal, and then
 * completes. `throw`, `hang` (deaf as well) and `exit` (ends the process) never get anywhere.
 */
export type Mode = 'finish' | 'wait' | 'block' | 'throw' | 'hang' | 'exit'

export function errandText(mode: Mode, milliseconds = 0, of = ''): string {
  return `${mode}:${milliseconds}:${of}`
}

/** The body of an event for these errands. */
export const errandEventSchema = z.object({
  id: z.string(),
  names: z.array(z.string()),
  /** Which check it asks for; without it, one of its own. */
  variant: z.string().optional(),
})
export type ErrandEvent = z.infer<typeof errandEventSchema>

export function createChaosErrand(worker: string, journal: string): AnyItemType {
  const { type } = createErrandType({ run, check, handle })

  async function run(draft: Draft<ErrandDetail>, context: ExecutorContext): Promise<ExecutorResult> {
    const { text } = draft.detail
    const [mode, milliseconds] = text.split(':')
    const note = noteFor(draft, 'run', text)
    note('begin')
    let sureAt: number | undefined
    if (mode === 'throw') throw new Error('this errand always throws')
    if (mode === 'hang') await new Promise(() => {})
    if (mode === 'exit') process.exit(1)
    if (mode === 'block') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(milliseconds))
    else sureAt = await workFor(Number(milliseconds), context, note)
    note('write', sureAt)
    draft.detail.doneText = text
    draft.settle('needs_run')
    if (mode !== 'wait') draft.finish('completed', 'done')
    return { outcome: 'succeeded' }
  }

  async function check(draft: Draft<ErrandDetail>, context: ExecutorContext): Promise<ExecutorResult> {
    const variants = actionableVariants({ name: 'needs_check', absent: 'not_needed' }, draft.dimensions, context.now)
    const note = noteFor(draft, 'check', variants.join(' '))
    note('begin')
    note('write', await workFor(0, context, note))
    for (const variant of variants) draft.settle('needs_check', { variant })
    return { outcome: 'succeeded' }
  }

  function noteFor({ item, detail }: Draft<ErrandDetail>, action: string, of: string) {
    const fixed = { worker, id: item.id, item: detail.name, epoch: Number(item.leaseEpoch), action, of }
    return (what: Effect['what'], sureAt?: number) => appendEffect(journal, { ...fixed, what, sureAt: sureAt ?? null })
  }

  return {
    ...type,
    events: {
      ...type.events,
      async resolve(db, { body }) {
        const keys = errandEventSchema.parse(body).names.map((name) => `errand:${name}`)
        const { rows } = await sql<{ id: string }>`
          select id from work_items where dedup_key = any(${keys}) and phase = 'active'`.execute(db)
        return rows.map(({ id }) => id)
      },
    },
  }
}

function handle(event: { readonly body: unknown }) {
  const { id, variant = id } = errandEventSchema.parse(event.body)
  return {
    phase: null,
    dimensions: [{ dimension: 'needs_check', variant, status: 'true' as const }],
    trigger: `event ${id}`,
  }
}

/**
 * Answers the instant just before it made sure, for the last time, that it still holds the lease. It asks for the signal anew as
 * every call to GitLab does.
 */
async function workFor(milliseconds: number, context: ExecutorContext, note: (what: 'abort') => void): Promise<number> {
  try {
    if (milliseconds > 0) await delay(milliseconds, undefined, { signal: context.signal })
    await setImmediate()
    const sureAt = now()
    context.signal.throwIfAborted()
    return sureAt
  } catch (error) {
    note('abort')
    throw error
  }
}
