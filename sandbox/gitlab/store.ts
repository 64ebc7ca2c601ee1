/**
 * The records on disk: one `state.json`, written to a temporary file and renamed, so that a crash leaves the old or the
 * new records and never half of them. Changes that come while a write is under way go out together with the next one.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Log, silentLog } from '../../src/lib/log.ts'
import type { State } from './state.ts'

function emptyState(): State {
  return {
    nextId: 1,
    users: [],
    tokens: [],
    groups: [],
    projects: [],
    mergeRequests: [],
    notes: [],
    pipelines: [],
    jobs: [],
  }
}

export interface Store {
  readonly state: State
  /** Says that records changed. */
  save(): void
  /** Resolves when every change so far is on disk; rejects when it could not be written. */
  flush(): Promise<void>
}

function readState(file: string): State {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return emptyState()
    throw error
  }
  // The file is this program's own and is replaced whole, so its shape is trusted.
  return { ...emptyState(), ...(JSON.parse(text) as State) }
}

/** Opens the records of `dataDir`, which is created if need be. Throws when `state.json` is there but not readable. */
export function openStore(dataDir: string, log: Log = silentLog): Store {
  mkdirSync(dataDir, { recursive: true })
  const file = join(dataDir, 'state.json')
  const state = readState(file)
  /** How often records changed, and how many of these changes are on disk. */
  let changes = 0
  let written = 0
  let writing = false
  let waiting: { readonly changes: number; resolve(): void; reject(error: unknown): void }[] = []

  async function write(): Promise<void> {
    // One turn of the event loop gathers the changes of one request.
    await new Promise((resolve) => setImmediate(resolve))
    const included = changes
    await writeFile(`${file}.tmp`, JSON.stringify(state), { mode: 0o600 })
    await rename(`${file}.tmp`, file)
    written = included
  }

  async function writeAll(): Promise<void> {
    try {
      while (written < changes) {
        await write()
        for (const waiter of waiting) if (waiter.changes <= written) waiter.resolve()
        waiting = waiting.filter((waiter) => waiter.changes > written)
      }
    } catch (error) {
      log.error({ error: String(error), file }, 'sandbox state not written')
      for (const waiter of waiting.splice(0)) waiter.reject(error)
    } finally {
      writing = false
    }
  }

  function start(): void {
    if (writing) return
    writing = true
    void writeAll()
  }

  return {
    state,
    save() {
      changes += 1
      start()
    },
    flush() {
      if (written >= changes) return Promise.resolve()
      return new Promise((resolve, reject) => {
        waiting.push({ changes, resolve, reject })
        start()
      })
    },
  }
}
