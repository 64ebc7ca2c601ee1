/**
 * The audit's first sink: one log line an entry, always, at level info (decision 0028). The entry is a field of its own, so
 * that a log pipeline can tell the audit from everything else.
 */
import type { Log } from '../lib/log.ts'
import type { Audit, AuditEntry } from './entry.ts'

/** `also` hears every entry after the log has: a screen, a test. Its failures are logged and go no further. */
export function createLogAudit(log: Log, also?: (entry: AuditEntry) => void): Audit {
  return {
    record(entry) {
      log.info({ audit: entry }, 'audit')
      try {
        also?.(entry)
      } catch (error) {
        log.error({ error: String(error) }, 'a listener of the audit failed')
      }
    },
  }
}
