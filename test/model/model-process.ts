/**
 * One process of the service, in the hands of the test: its actions wait until they are told how to end, the statements that
 * send an item to rest or apply an event can be held up, and it can die between any two statements, or right after one.
 */

import type { PostgresPool } from 'kysely'
import { sql } from 'kysely'
import type { Database } from '../../src/db/database.ts'
import { WorkQueueError } from '../../src/lib/errors.ts'
import { actionableVariants } from '../../src/queue/dimension.ts'
import type { Draft } from '../../src/queue/draft.ts'
import type { AnyItemType, EventResult, ExecutorContext, ExecutorResult } from '../../src/queue/item-type.ts'
import { isUniqueViolation } from '../../src/queue/sql/unique-violation.ts'
import { createErrandType, type ErrandDetail } from '../support/errand-type.ts'
import { createTestQueue, type TestQueue } from '../support/queue.ts'
import type { Action, EventKind } from './item.ts'
import { type Answer, openTapped, type Send, type Traffic } from './tapped-pool.ts'
import { type Ending, TRANSIENT_BUDGET_HOURS } from './work.ts'

/** Somebody waits for the test's word. */
export interface RealPause {
  readonly number: number
  readonly process: number
  readonly kind: 'action' | 'exit' | 'event'
  readonly itemId: string
  readonly action: Action | null
  /** What an action has read. */
  readonly text: string | null
  readonly revision: number
  letGo(ending: Ending): void
  readonly gone: Promise<void>
}

export interface PauseBoard {
  /** What the database refused. Two items of one identity it may refuse, and nothing else. */
  readonly refusals: unknown[]
  readonly holding: { exits: boolean; events: boolean }
  post(pause: Omit<RealPause, 'number' | 'letGo' | 'gone'>, signal: AbortSignal | null): Promise<Ending>
}

export interface ModelProcessOptions {
  readonly index: number
  readonly pool: PostgresPool
  readonly traffic: Traffic
  readonly board: PauseBoard
  readonly rewrite: (text: string) => string
  /** Waits for its actions when it stops; otherwise it interrupts them. */
  readonly isPatient: boolean
}

export interface ModelProcess {
  readonly index: number
  readonly isPatient: boolean
  readonly db: Database
  readonly type: AnyItemType
  readonly test: TestQueue
  /** Nothing is sent from now on. */
  die(): void
  dieAfterOutcome(): void
  loseNextAnswer(): void
}

const HOUR = 3_600_000
/** Timers longer than an hour are not set, and the clock of this test moves by SQL. */
export const CONFIG = {
  ...{
    workers: 20,
    lease: HOUR,
    action_timeout: HOUR,
    sweep_interval: HOUR,
    item_deadline: HOUR,
    concurrency_per_key: 20,
  },
  ...{ backoff_base: 10 * HOUR, backoff_max: 10 * HOUR, transient_budget: TRANSIENT_BUDGET_HOURS * HOUR },
}
const DEFER_MS = 10 * HOUR
const PATIENCE_MS = 20_000

export class ProcessDied extends Error {}

export function createModelProcess(options: ModelProcessOptions): ModelProcess {
  const { index, board, isPatient } = options
  const wire = createWire(options)
  const { type } = createErrandType({
    run: (draft, context) => act('run', draft, context),
    check: (draft, context) => act('check', draft, context),
    stop: (draft, context) => act('stop', draft, context),
    handle: ({ body }) => handle(body as EventBody),
  })

  async function act(
    action: Action,
    draft: Draft<ErrandDetail>,
    { signal, now }: ExecutorContext,
  ): Promise<ExecutorResult> {
    const { id, revision } = draft.item
    const pause = { process: index, kind: 'action', itemId: id, action, text: draft.detail.text } as const
    const ending = await board.post({ ...pause, revision: Number(revision) }, signal)
    return perform(action, ending, draft, now)
  }

  const resolve: typeof type.events.resolve = async (db, { body }) => {
    // A resolver may have looked a moment before the item ended.
    const { rows } = await sql<{ id: string }>`
      select id
      from work_items
      where dedup_key = ${`errand:${(body as EventBody).name}`}
      order by phase = 'active' desc, generation desc
      limit 1`.execute(db)
    return rows.map(({ id }) => id)
  }
  const lateType = { ...type, events: { ...type.events, resolve } }
  const config = { ...CONFIG, shutdown_grace: isPatient ? PATIENCE_MS : 1 }
  const test = createTestQueue(wire.db, [lateType], config)
  return { index, isPatient, db: wire.db, type: lateType, test, ...wire.fate }
}

function createWire({ index, pool, traffic, board, rewrite }: ModelProcessOptions) {
  let fate: 'lives' | 'dies after its outcome' | 'is dead' = 'lives'
  let losesAnswer = false
  let owesRepeat = false

  async function tap(text: string, values: readonly unknown[], send: Send): Promise<Answer> {
    if (owesRepeat) {
      owesRepeat = false
      // The wait before the repeat counted as traffic; from here the statement itself does.
      setImmediate(() => traffic.end())
    }
    if (fate === 'is dead') throw new ProcessDied()
    const kind = heldKind(text)
    if (kind !== null && board.holding[`${kind}s`]) {
      // In a group a locked row is passed over, and its writer comes again alone: that one is held up.
      if (text.includes('skip locked')) return { command: 'SELECT', rowCount: 0, rows: [] }
      const { id, revision } = readInput(values)
      const pause = { process: index, kind, itemId: id, action: null, text: null, revision: Number(revision) }
      await board.post(pause, null)
      if ((fate as string) === 'is dead') throw new ProcessDied()
    }
    const answer = await send(rewrite(text)).catch((error: unknown) => {
      if (!isUniqueViolation(error)) board.refusals.push(error)
      throw error
    })
    // No row is ever locked here, so one that cannot be released is another's: it need not be asked for again.
    if (text.includes('to_the_back')) return { ...answer, rows: JSON.parse(String(values[0])) as unknown[] }
    if (!isOutcome(text)) return answer
    if (fate === 'dies after its outcome') {
      fate = 'is dead'
      throw new ProcessDied()
    }
    if (losesAnswer) {
      losesAnswer = false
      owesRepeat = true
      traffic.begin()
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    }
    return answer
  }

  return {
    db: openTapped(pool, traffic, tap),
    fate: {
      die: () => {
        fate = 'is dead'
      },
      dieAfterOutcome: () => {
        fate = 'dies after its outcome'
      },
      loseNextAnswer: () => {
        losesAnswer = true
      },
    },
  }
}

/** The writes that end a step: those of a worker that proves its lease and says what it has read. */
function isOutcome(text: string): boolean {
  return text.includes('item.lease_epoch = input.epoch') && text.includes('input.revision')
}

function heldKind(text: string): 'exit' | 'event' | null {
  if (!isOutcome(text)) return null
  if (text.includes('delete from pending_events')) return 'event'
  return text.includes('set actionable = false') ? 'exit' : null
}

function readInput([json]: readonly unknown[]): { readonly id: string; readonly revision: string } {
  const [input] = JSON.parse(String(json)) as readonly { readonly id: string; readonly revision: string }[]
  if (input === undefined) throw new Error('an outcome of nothing was sent')
  return input
}

async function perform(action: Action, ending: Ending, draft: Draft<ErrandDetail>, now: Date): Promise<ExecutorResult> {
  if (ending === 'fail') return { outcome: 'failed', code: ending, message: 'it broke' }
  if (ending === 'for_good') return { outcome: 'failed_for_good', code: ending, message: 'it is broken' }
  if (ending === 'transient') throw new WorkQueueError(ending, 'nobody is there', { failure: 'transient' })
  if (ending === 'leave') return { outcome: 'succeeded' }
  if (action === 'run') draft.detail.doneText = draft.detail.text
  const dimension = { name: `needs_${action}`, absent: action === 'run' ? 'needed' : 'not_needed' } as const
  for (const variant of actionableVariants(dimension, draft.dimensions, now)) draft.settle(dimension.name, { variant })
  if (ending === 'defer') draft.need('needs_check', { variant: 'later', deferMs: DEFER_MS })
  if (ending === 'need') draft.need('needs_check', { variant: 'more' })
  if (action === 'stop') draft.finish('cancelled', 'stopped')
  else if (ending === 'finish') draft.finish('completed', 'done')
  return { outcome: 'succeeded' }
}

/** Made by the world's `ingest`. */
export interface EventBody {
  readonly name: string
  readonly label: string
  readonly kind: EventKind
  readonly variant: string
}

function handle({ label, kind, variant }: EventBody): EventResult {
  const base = { trigger: label, dimensions: [] }
  switch (kind) {
    case 'ping':
      return { ...base, phase: null, dimensions: [{ dimension: 'needs_check', variant, status: 'true' }] }
    case 'quiet':
      return { ...base, phase: null }
    case 'done':
      return { ...base, phase: 'completed', resolution: kind }
    case 'closed':
      return { ...base, phase: 'cancelled', resolution: kind }
    case 'poison':
      throw new Error(label)
  }
}
