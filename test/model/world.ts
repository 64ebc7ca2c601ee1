/**
 * The real side: a few processes of the service over one real database, everyone who waits in them, and the hands of the
 * test: it starts and ends processes, ends actions, lets leases run out and waits pass, and looks at what is stored.
 */
import { type PostgresPool, sql } from 'kysely'
import type { AuditEntry } from '../../src/audit/entry.ts'
import type { Database } from '../../src/db/database.ts'
import { messageOf } from '../../src/lib/errors.ts'
import { createExtendLeases, type Heartbeat } from '../../src/queue/sql/extend-leases.ts'
import {
  CONFIG,
  createModelProcess,
  type EventBody,
  type ModelProcess,
  type PauseBoard,
  ProcessDied,
  type RealPause,
} from './model-process.ts'
import { type ObservedItem, observe } from './observe.ts'
import { Traffic } from './tapped-pool.ts'
import type { Ending, Holding } from './work.ts'

export const PASSING_HOURS = 11
const PASSING = sql`make_interval(hours => ${PASSING_HOURS})`

export const REFUSED = 'the database refused a statement'

export interface WorldOptions {
  readonly db: Database
  /** What the processes share, so that a run need not open connections of its own. */
  readonly pool: PostgresPool
  /** Plants a bug. */
  readonly rewrite: (text: string) => string
}

export class World {
  readonly holding: Holding = { exits: false, events: false }
  readonly pauses = new Map<number, RealPause>()
  readonly processes: ModelProcess[] = []
  readonly #options: WorldOptions
  readonly #traffic = new Traffic()
  readonly #board: PauseBoard
  readonly #rejections = new Map<number, (error: unknown) => void>()
  #pauseCount = 0

  constructor(options: WorldOptions) {
    this.#options = options
    this.#board = { refusals: [], holding: this.holding, post: (pause, signal) => this.#post(pause, signal) }
    // It only opens the door to callers and never works.
    this.addProcess(true)
  }

  addProcess(isPatient: boolean): ModelProcess {
    const { pool, rewrite } = this.#options
    const index = this.processes.length
    const traffic = this.#traffic
    const process = createModelProcess({ index, pool, traffic, board: this.#board, rewrite, isPatient })
    this.processes.push(process)
    return process
  }

  process(index: number): ModelProcess {
    const process = this.processes[index]
    if (process === undefined) throw new Error(`there is no process ${index}`)
    return process
  }

  /** Resolves when nothing moves any more. @throws when the database has refused a statement meanwhile. */
  async quiet(): Promise<void> {
    await this.#traffic.quiet()
    const [refusal] = this.#board.refusals.splice(0)
    if (refusal !== undefined) throw new Error(`${REFUSED}: ${messageOf(refusal)}`)
  }

  observe(): Promise<ReadonlyMap<string, ObservedItem>> {
    return observe(this.#options.db)
  }

  /** Nothing that it holds is ever written, and nobody gives its leases back. */
  async bury(process: ModelProcess): Promise<void> {
    process.die()
    for (const pause of this.pausesOf(process.index)) this.#rejections.get(pause.number)?.(new ProcessDied())
    await process.test.manager.stop()
    await this.quiet()
  }

  pausesOf(process: number): readonly RealPause[] {
    return [...this.pauses.values()].filter((pause) => pause.process === process)
  }

  letGo(number: number, ending: Ending): void {
    const pause = this.pauses.get(number)
    if (pause === undefined) throw new Error(`nobody waits as number ${number}`)
    pause.letGo(ending)
  }

  heartbeat(itemId: string, epoch: number): Promise<readonly Heartbeat[]> {
    const extend = createExtendLeases(this.process(0).db)
    return extend([{ workItemId: itemId, epoch: BigInt(epoch) }], CONFIG.lease)
  }

  async ingest(process: number, body: EventBody, at: Date, sourceId: string | null): Promise<readonly string[]> {
    return this.process(process).test.queue.ingest({ eventType: body.kind, eventAt: at, body, sourceId })
  }

  async expireLease(itemId: string): Promise<void> {
    await sql`update work_items set leased_until = now() - interval '1 second' where id = ${itemId}`.execute(
      this.#options.db,
    )
  }

  /** As if its waits were over. */
  async passWaits(itemId: string): Promise<void> {
    const { db } = this.#options
    await sql`update work_items set retry_at = retry_at - ${PASSING}, due_at = due_at - ${PASSING} where id = ${itemId}`.execute(
      db,
    )
    await sql`
      update work_item_statuses set pending_until = pending_until - ${PASSING}
      where work_item_id = ${itemId}`.execute(db)
  }

  /** As if those hours had gone by. */
  async passTime(): Promise<void> {
    const { db } = this.#options
    await sql`
      update work_items
      set retry_at = retry_at - ${PASSING},
          failing_since = failing_since - ${PASSING},
          due_at = due_at - ${PASSING},
          leased_until = leased_until - ${PASSING}`.execute(db)
    await sql`update work_item_statuses set pending_until = pending_until - ${PASSING}`.execute(db)
  }

  audit(): readonly AuditEntry[] {
    return this.processes.flatMap(({ test }) => test.audit.entries)
  }

  async close(): Promise<void> {
    // A run that failed may have been in the middle of something.
    await this.#traffic.quiet()
    await Promise.allSettled(this.processes.map((process) => this.bury(process)))
    await sql`delete from work_items`.execute(this.#options.db)
  }

  async #post(posted: Omit<RealPause, 'number' | 'letGo' | 'gone'>, signal: AbortSignal | null): Promise<Ending> {
    this.#pauseCount += 1
    const number = this.#pauseCount
    const ending = Promise.withResolvers<Ending>()
    const gone = Promise.withResolvers<void>()
    signal?.addEventListener('abort', () => ending.reject(signal.reason))
    this.pauses.set(number, { ...posted, number, letGo: ending.resolve, gone: gone.promise })
    this.#rejections.set(number, ending.reject)
    try {
      return await ending.promise
    } finally {
      this.pauses.delete(number)
      this.#rejections.delete(number)
      gone.resolve()
    }
  }
}
