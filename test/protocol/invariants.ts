/** What must hold wherever no transaction is open, and at the end of every schedule. */
import { sql } from 'kysely'
import type { AuditEntry } from '../../src/audit/entry.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { type AfterEvent, sweepOnce } from './actors.ts'
import { instant, type Look, leaseState, SEARCH_PATH, toLook } from './held-clock.ts'
import type { State } from './state.ts'

/** What is wrong with a state at rest; null = nothing. */
export function faultOf({ members, committed, clockMs }: State): string | null {
  const failed = members.find(({ life }) => life.error !== null)
  if (failed !== undefined) return `${failed.name} failed: ${String(failed.life.error)}`
  const epochs = members.flatMap(({ life }) => life.epoch ?? [])
  if (new Set(epochs).size < epochs.length) return 'two claims drew the same epoch'
  const twice = Object.entries(timesApplied(members)).find(([, times]) => times > 1)
  if (twice !== undefined) return `${twice[0]} was applied ${twice[1]} times`
  if (leaseState(committed, clockMs) === 'valid') {
    const isHeld = members.some(({ life }) => life.parked !== null && life.epoch === committed.item.lease_epoch)
    return isHeld ? null : 'there is a valid lease, and nobody to work under it'
  }
  if (committed.item.actionable) return null
  if (committed.events.some(({ dead }) => !dead))
    return 'an event is pending, and the item neither actionable nor leased'
  if (wantsSomething(committed)) return 'a dimension is needed, and the item neither actionable nor leased'
  return null
}

function wantsSomething({ statuses }: Look): boolean {
  return statuses.some(({ status, pending_until }) => status === 'true' && pending_until === null)
}

function timesApplied(members: State['members']): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of members.flatMap(({ life }) => life.applied)) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

export interface Afterwards {
  /** At the end of a schedule: after some last sweeps everything is done, and each event was applied once. */
  faultAtEnd(state: State): Promise<string | null>
  close(): Promise<void>
}

const MUCH_LATER_MS = 86_400_000
const MOST_SWEEPS = 4

export function openAfterwards(url: string, afterEvent: AfterEvent, inserters: readonly string[]): Afterwards {
  const address = new URL(url)
  address.searchParams.set('options', `${SEARCH_PATH} -c held.now=${instant(MUCH_LATER_MS)}`)
  const db = openDatabase({ url: address.href, maxConnections: 1 })
  const known = new Map<string, { readonly left: Look; readonly applied: readonly string[] }>()

  async function sweepUp(look: Look) {
    const found = known.get(look.text)
    if (found !== undefined) return found
    await sql`select held.restore(${look.text}::jsonb)`.execute(db)
    const audit: AuditEntry[] = []
    const record = (entry: AuditEntry) => void audit.push(entry)
    for (let sweeps = 0; sweeps < MOST_SWEEPS; sweeps += 1) {
      await sweepOnce({ db, name: 'last sweep', afterEvent, record })
    }
    const applied = audit.flatMap(({ event_type, message }) => (event_type === 'event' ? (message ?? '') : []))
    const swept = { left: await lookAt(db), applied }
    known.set(look.text, swept)
    return swept
  }

  return {
    async faultAtEnd({ committed, members }) {
      const { left, applied } = await sweepUp(committed)
      const { item, events } = left
      if (item.actionable || item.leased_until !== null || events.length > 0 || wantsSomething(left)) {
        return 'the last sweep has left something to do'
      }
      const all = [...members.flatMap(({ life }) => life.applied), ...applied]
      const odd = inserters.find((name) => all.filter((other) => other === name).length !== 1)
      return odd === undefined ? null : `${odd} was applied ${all.filter((other) => other === odd).length} times`
    },
    close: () => db.destroy(),
  }
}

async function lookAt(db: Database): Promise<Look> {
  const { rows } = await sql<{ look: string }>`select held.look() as look`.execute(db)
  return toLook(rows[0]?.look ?? '')
}
