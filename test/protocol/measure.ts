/**
 * What a statement does in each situation that it can meet, found out from PostgreSQL itself, once a situation. A situation is
 * all that a statement depends on: the rows as of its snapshot, the rows as it comes to lock them, and whether somebody else
 * holds their lock just then.
 */
import pg from 'pg'
import { createPool, PREPARED } from '../../src/db/pool.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { Row } from './gated-database.ts'
import { instant, type Look, PAUSE_LOCK, SEARCH_PATH, toLook } from './held-clock.ts'
import { numberOf } from './numbers.ts'

export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

export interface Effect {
  readonly rows: readonly Row[]
  /** It has locked or written something: only then can others tell that its transaction is open. */
  readonly touched: boolean
  /** What its transaction sees afterwards. */
  readonly look: Look
}

/** When the statement began: what was committed, and the time. */
export interface Start {
  readonly look: Look
  readonly clockMs: number
}

export interface Measure {
  /** `now`: what is committed as it comes to its locks. */
  effect(statement: Statement, start: Start, now: Look): Promise<Effect>
  /** While another transaction has the item's row locked; null = it waits. */
  effectWhileLocked(statement: Statement, start: Start): Promise<Effect | null>
  look(): Promise<Look>
  /** Situations that were put to PostgreSQL. */
  measured(): number
  /** Leaves the rows as they were at the beginning. */
  close(): Promise<void>
}

/** `rewrite` plants a bug in a statement. */
export async function openMeasure(url: string, rewrite: (text: string) => string): Promise<Measure> {
  const postgres = await openPostgres(url)
  const known = new Map<string, Promise<Effect | null>>()

  function once(key: string, find: () => Promise<Effect | null>): Promise<Effect | null> {
    const found = known.get(key) ?? find()
    known.set(key, found)
    return found
  }

  const situation = (statement: Statement, { look, clockMs }: Start) => {
    return `${numberOf(statement)} ${numberOf(look)} ${clockMs}`
  }
  const changed = ({ text, values }: Statement) => ({ text: rewrite(text), values })
  return {
    look: postgres.look,
    measured: () => known.size,
    async effect(statement, start, now) {
      const key = `${situation(statement, start)} ${numberOf(now)}`
      const found = await once(key, () => postgres.effect(changed(statement), start, now))
      if (found === null) throw new Error('a statement waits for nobody')
      return found
    },
    effectWhileLocked: (statement, start) =>
      once(situation(statement, start), () => postgres.effectWhileLocked(changed(statement), start)),
    close: postgres.close,
  }
}

async function openPostgres(url: string): Promise<Omit<Measure, 'measured'>> {
  const address = new URL(url)
  address.searchParams.set('options', `${SEARCH_PATH} -c held.now=${instant(0)}`)
  const options = { maxConnections: 1, pooler: false, log: silentLog, statementTimeoutMs: 60_000 }
  const pool = createPool({ url: address.href, ...options })
  const actor = await pool.connect()
  const other = new pg.Client({ connectionString: address.href })
  await other.connect()
  const [backend] = (await actor.query<{ pid: number }>('select pg_backend_pid() as pid', [])).rows
  const pid = backend?.pid ?? 0
  const first = await look()

  async function look(): Promise<Look> {
    return toLook((await other.query<{ look: string }>('select held.look() as look')).rows[0]?.look ?? '')
  }

  async function restore({ text }: Look): Promise<void> {
    await other.query({ name: 'restore', text: 'select held.restore($1::jsonb)', values: [text] })
  }

  /** Leaves nothing behind: what the statement has done is looked at and rolled back. */
  async function run({ text, values }: Statement, { clockMs }: Start): Promise<Effect> {
    await actor.query(`begin; set local held.now = '${instant(clockMs)}'`, [])
    try {
      const { rows } = await actor.query<Row>(text, values)
      const seen = await actor.query<{ touched: boolean; look: string }>(LOOK, [])
      return { rows, touched: seen.rows[0]?.touched ?? false, look: toLook(seen.rows[0]?.look ?? '') }
    } finally {
      await actor.query('rollback', [])
    }
  }

  async function isWaiting(): Promise<boolean> {
    const waiting = { name: 'waiting', text: 'select cardinality(pg_blocking_pids($1)) > 0 as waits', values: [pid] }
    return (await other.query<{ waits: boolean }>(waiting)).rows[0]?.waits ?? false
  }

  /** True: it waits for us; false: it has come to its end. */
  async function waits(running: Promise<unknown>): Promise<boolean> {
    let ended = false
    const end = running.then(
      () => (ended = true),
      () => (ended = true),
    )
    while (!ended) {
      if (await isWaiting()) return true
      await Promise.race([end, new Promise(setImmediate)])
    }
    return false
  }

  async function effect(statement: Statement, start: Start, now: Look): Promise<Effect> {
    await restore(start.look)
    if (now.text === start.look.text) return run(statement, start)
    // Between its snapshot and its locks the rows change: while it waits for them, or, where it never waits, in a pause.
    const isPaused = statement.text.includes('skip locked')
    if (isPaused) await other.query(`select pg_advisory_lock(${PAUSE_LOCK})`)
    else await other.query('begin')
    if (!isPaused) await restore(now)
    const running = run(isPaused ? pausable(statement) : statement, start)
    await waits(running)
    if (isPaused) await restore(now)
    await other.query(isPaused ? `select pg_advisory_unlock(${PAUSE_LOCK})` : 'commit')
    return running
  }

  async function effectWhileLocked(statement: Statement, start: Start): Promise<Effect | null> {
    await restore(start.look)
    await other.query('begin; select from work_items for no key update')
    const running = run(statement, start)
    const waited = await waits(running)
    await other.query('commit')
    const found = await running
    return waited ? null : found
  }

  return {
    look,
    effect,
    effectWhileLocked,
    async close() {
      await restore(first)
      actor.release()
      await Promise.all([pool.end(), other.end()])
    },
  }
}

const LOOK = `${PREPARED} select pg_current_xact_id_if_assigned() is not null as touched, held.look() as look`

/** The parameter is read before any row is locked. */
function pausable({ text, values }: Statement): Statement {
  return { text: text.replaceAll(/\$1::(?:jsonb|text\[\])/g, (parameter) => `held.paused(${parameter})`), values }
}
