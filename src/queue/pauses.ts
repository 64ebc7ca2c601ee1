/**
 * What operators hold: a pause names an item type, a key (of an mr: its project), a caller, several of them, or nothing at
 * all, which is everything. Whatever fits is accepted and stored, takes events, and is not worked on: no action begins, and
 * one that runs is interrupted before its next write. Each process looks at the list every second, so a pause holds
 * everywhere a second after it was made. Decision 0085.
 */
import type { Database } from '../db/database.ts'
import { messageOf } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { holds, type Pausable, type Pause } from './pause.ts'
import { readPauses } from './sql/pauses.ts'

export interface Pauses {
  /** The oldest that holds the item, as far as this process knows; null = none. */
  find(item: Pausable): Pause | null
  /** Reads the list anew. @throws whatever the database throws. */
  refresh(): Promise<void>
  /** Resolves when the list is known. */
  start(): Promise<void>
  stop(): void
}

const LOOK_MS = 1_000

/** `onAdded`: there are pauses that this process did not know. */
export function createPauses(db: Database, log: Log, onAdded: () => void): Pauses {
  let known: readonly Pause[] = []
  let timer: NodeJS.Timeout | undefined

  async function refresh(): Promise<void> {
    const before = new Set(known.map(({ id }) => id))
    known = await readPauses(db)
    if (known.some(({ id }) => !before.has(id))) onAdded()
  }

  async function look(): Promise<void> {
    try {
      await refresh()
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the pauses could not be read; those that were known hold')
    }
    if (timer !== undefined) timer = setTimeout(() => void look(), LOOK_MS)
  }

  return {
    find: (item) => known.find((pause) => holds(pause, item)) ?? null,
    refresh,
    async start() {
      await refresh()
      timer = setTimeout(() => void look(), LOOK_MS)
    },
    stop() {
      clearTimeout(timer)
      timer = undefined
    },
  }
}
