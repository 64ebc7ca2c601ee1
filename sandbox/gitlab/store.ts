/**
 * The records on disk: one `state.json`, written to a temporary file and renamed, so that a crash leaves the old or the
 * new records and never half of them. Changes that come while a write is under way go out together with the next one.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Log, silentLog } from '../../src/lib/log.ts'
import type { State } from './state.ts'

export function emptyState(): State {
  return { nextId: 1, users: [], tokens: [], projects: [], mergeRequests: [], notes: [], pipelines: [], jobs: [] }
}

export interface Store {
  readonly state: State
  save(): void
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
  let dirty = false
  let writing: Promise<void> | null = null

  async function write(): Promise<void> {
    // One turn of the event loop gathers the changes of one request.
    await new Promise((resolve) => setImmediate(resolve))
    while (dirty) {
      dirty = false
      await writeFile(`${file}.tmp`, JSON.stringify(state), { mode: 0o600 })
      await rename(`${file}.tmp`, file)
    }
  }

  function save(): void {
    dirty = true
    writing ??= write()
      .catch((error) => log.error({ error: String(error), file }, 'sandbox state not written'))
      .finally(() => {
        writing = null
      })
  }

  return {
    state,
    save,
    async flush() {
      if (dirty) save()
      await writing
    },
  }
}
