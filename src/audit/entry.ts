/**
 * The audit entry: one fact about what the service decided or did, written for the person who later asks "who changed
 * this, and why". Decisions 0017 and 0028. Keys are snake_case because entries leave the process as they are. No file
 * content and no token ever enters an entry.
 */
export interface AuditEntry {
  /** What kind of fact: `submission`, `action`, `phase_change`, `dimension_change`, `event`, `auth`, … */
  readonly event_type: string
  readonly work_item_id?: string
  readonly item_type?: string
  readonly caller?: string
  /** The action that ran (`ensure_mr`) or was asked for (`submit`, `retry`, `cancel`). */
  readonly action?: string
  /** `created`, `succeeded`, `failed`, `denied`, … */
  readonly outcome?: string
  readonly phase_from?: string
  readonly phase_to?: string
  readonly resolution?: string
  readonly dimensions?: Readonly<Record<string, string>>
  readonly error_code?: string
  readonly message?: string
  readonly request_id?: string
  /** More facts, snake_case. */
  readonly facts?: Readonly<Record<string, unknown>>
}

/** Takes entries. Never throws: a failure of the audit must not fail the work it describes (decision 0028). */
export interface Audit {
  record(entry: AuditEntry): void
}
