/**
 * An audit that remembers its entries and lets a test wait for one: the service's own account of what it did is the
 * signal, so that no test has to sleep.
 */
import { EventEmitter, once } from 'node:events'
import type { Audit, AuditEntry } from '../../src/audit/entry.ts'

export interface RecordedAudit extends Audit {
  readonly entries: readonly AuditEntry[]
  /** The first entry that matches, past or future. */
  waitFor(matches: (entry: AuditEntry) => boolean, what: string): Promise<AuditEntry>
  /** The next end (or given phase) of this item that is yet to be recorded or was recorded after `since` entries. */
  waitForPhase(workItemId: string, phase: string, since?: number): Promise<AuditEntry>
}

const PATIENCE_MS = 20_000

export function createRecordedAudit(): RecordedAudit {
  const entries: AuditEntry[] = []
  const emitter = new EventEmitter()
  emitter.setMaxListeners(0)

  async function waitFrom(since: number, matches: (entry: AuditEntry) => boolean, what: string): Promise<AuditEntry> {
    const patience = AbortSignal.timeout(PATIENCE_MS)
    for (;;) {
      const found = entries.slice(since).find(matches)
      if (found !== undefined) return found
      await once(emitter, 'entry', { signal: patience }).catch(() => {
        const tail = entries.slice(-15).map((entry) => JSON.stringify(entry))
        throw new Error(`the audit never showed ${what}; its last entries:\n${tail.join('\n')}`)
      })
    }
  }

  return {
    entries,
    record(entry) {
      entries.push(entry)
      emitter.emit('entry')
    },
    waitFor: (matches, what) => waitFrom(0, matches, what),
    waitForPhase: (workItemId, phase, since = 0) =>
      waitFrom(
        since,
        (entry) => entry.event_type === 'phase_change' && entry.work_item_id === workItemId && entry.phase_to === phase,
        `work item ${workItemId} becoming ${phase}`,
      ),
  }
}
