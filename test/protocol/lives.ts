/**
 * What each actor does next, after all that it was told: found out by running its code up to there. Equal histories are one
 * life; two lives that remember the same are one as well.
 */
import type { AuditEntry } from '../../src/audit/entry.ts'
import { type AfterEvent, ROLES, type Role } from './actors.ts'
import { type Answer, createGate, type Parked, type Row } from './gated-database.ts'
import { numberOf } from './numbers.ts'

export interface Life {
  /** Equal for lives that go on in the same way. */
  readonly memory: number
  /** null: it has ended. */
  readonly parked: Parked | null
  /** The epoch of the lease that it holds or once held. */
  readonly epoch: number | null
  /** The events that it has applied, by its own account in the audit. */
  readonly applied: readonly string[]
  readonly error: unknown
  told(rows: readonly Row[]): Promise<Life>
}

export interface LifeOptions {
  readonly role: Role
  readonly name: string
  readonly afterEvent: AfterEvent
}

export function beginLife(options: LifeOptions): Promise<Life> {
  const lives = new Map<string, Promise<Life>>()

  async function live(answers: readonly Answer[]): Promise<Life> {
    const audit: AuditEntry[] = []
    const gate = createGate(answers)
    let hasEnded = false
    let error: unknown = null
    const end = ROLES[options.role]({ db: gate.db, ...options, record: (entry) => void audit.push(entry) })
      .catch((cause: unknown) => {
        error = cause
      })
      .then(() => {
        hasEnded = true
      })
    await Promise.race([gate.nextPark(), end])
    const parked = hasEnded ? null : gate.parked()
    const applied = audit.flatMap(({ event_type, message }) => (event_type === 'event' ? (message ?? '') : []))
    const epoch = epochIn(answers)
    const knows = parked === null ? null : [parked, epoch, known(answers)]
    const memory = numberOf([options.role, applied, knows])
    return {
      memory,
      parked,
      epoch,
      applied,
      error,
      told(rows) {
        if (parked === null) throw new Error(`${options.name} has ended`)
        const key = `${memory} ${numberOf(rows)}`
        const next = lives.get(key) ?? live([...answers, { to: parked, rows }])
        lives.set(key, next)
        return next
      },
    }
  }

  return live([])
}

function epochIn(answers: readonly Answer[]): number | null {
  const epoch = answers.flatMap(({ rows }) => rows).find((row) => 'epoch' in row)?.['epoch']
  return epoch === undefined ? null : Number(epoch)
}

/** The loop remembers its last full look at the item, and what it was told about its own writes since. */
function known(answers: readonly Answer[]): readonly unknown[] {
  const last = answers.findLastIndex(({ rows }) => rows.some((row) => 'events' in row))
  return answers.slice(Math.max(last, 0)).map(({ rows }) => rows.map(lookedAt))
}

/** All but instants: in these scenarios nothing is deferred, so the code looks at none of them. */
function lookedAt(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => !(value instanceof Date)))
}
