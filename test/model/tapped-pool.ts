/**
 * A pool whose statements pass through a tap: the test sees each before it is sent and after it was answered, and may change
 * it, hold it up, or let it vanish with its process. The traffic of all pools is counted, so that a test can wait until nothing
 * is under way any more.
 */
import { EventEmitter, once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { Kysely, PostgresDialect, type PostgresPool, type PostgresQueryResult } from 'kysely'
import type { Database } from '../../src/db/database.ts'
import type { DB } from '../../src/db/schema.ts'

export type Answer = PostgresQueryResult<unknown>
export type Send = (text: string) => Promise<Answer>
export type Tap = (text: string, values: readonly unknown[], send: Send) => Promise<Answer>

/** Whatever a process begins after an answer has begun after so many turns of the event loop. */
const TURNS = 6

export class Traffic {
  #underWay = 0
  #begun = 0
  readonly #emitter = new EventEmitter()

  begin(): void {
    this.#underWay += 1
    this.#begun += 1
  }

  end(): void {
    this.#underWay -= 1
    if (this.#underWay === 0) this.#emitter.emit('still')
  }

  /** Resolves when no statement is on its way and nobody is about to send one. */
  async quiet(): Promise<void> {
    for (;;) {
      while (this.#underWay > 0) await once(this.#emitter, 'still')
      const seen = this.#begun
      for (let turns = 0; turns < TURNS; turns += 1) await turn()
      if (this.#underWay === 0 && this.#begun === seen) return
    }
  }
}

/** A database over a pool that others use too; destroying it closes nothing. */
export function openTapped(pool: PostgresPool, traffic: Traffic, tap: Tap): Database {
  const tapped: PostgresPool = {
    options: pool.options,
    end: async () => {},
    async connect() {
      traffic.begin()
      const client = await pool.connect().finally(() => traffic.end())
      const send = async (text: string, values: readonly unknown[]): Promise<Answer> => {
        traffic.begin()
        return client.query<unknown>(text, values).finally(() => traffic.end())
      }
      const query = (text: unknown, values: readonly unknown[] = []) => {
        if (typeof text !== 'string') throw new Error('this pool has no cursors')
        return tap(text, values, (changed) => send(changed, values))
      }
      return { query: query as typeof client.query, release: (destroy) => client.release(destroy) }
    },
  }
  return new Kysely<DB>({ dialect: new PostgresDialect({ pool: tapped }) })
}
