/**
 * The one table from how a command ended to its exit status, for scripts. Statuses 0 and 3 to 5 tell how a watched work
 * item ended; the others, why a command could not do its work.
 */
export const EXIT_STATUS = {
  done: 0,
  /** Anything that is not below: a fault of the program. */
  unexpected: 1,
  /** The command line, the input file or the configuration is wrong. */
  usage: 2,
  /** The work item failed. */
  failed: 3,
  cancelled: 4,
  /** `watch` gave up waiting; the work item goes on. */
  timeout: 5,
  /** The service, or something it needs, cannot be reached. */
  unavailable: 6,
  /** No valid token, or no right. */
  denied: 7,
  /** The service refused what was sent. */
  refused: 8,
  not_found: 9,
  /** The work item is not in a state for this. */
  conflict: 10,
} as const

type Ending = keyof typeof EXIT_STATUS

const ENDING_BY_CODE: Readonly<Record<string, Ending>> = {
  input_unreadable: 'usage',
  input_malformed: 'usage',
  input_unsupported: 'usage',
  input_outdated: 'usage',
  git_unavailable: 'usage',
  bad_usage: 'usage',
  no_service: 'usage',
  bad_service_url: 'usage',
  token_unreadable: 'usage',
  config_unreadable: 'usage',
  config_invalid: 'usage',
  watch_timeout: 'timeout',
  service_unreachable: 'unavailable',
  service_timeout: 'unavailable',
  not_the_service: 'unavailable',
  database_unavailable: 'unavailable',
  schema_too_old: 'unavailable',
  schema_too_new: 'unavailable',
  migration_failed: 'unavailable',
  embedded_postgres_unavailable: 'unavailable',
  webhook_not_connected: 'unavailable',
  identity_provider_unavailable: 'unavailable',
  unavailable: 'unavailable',
  busy: 'unavailable',
  too_many_requests: 'unavailable',
  too_many_open_items: 'refused',
  port_in_use: 'unavailable',
  already_running: 'unavailable',
  listen_failed: 'unavailable',
  unauthenticated: 'denied',
  permission_denied: 'denied',
  invalid_request: 'refused',
  malformed_json: 'refused',
  invalid_utf8: 'refused',
  payload_too_large: 'refused',
  submission_rejected: 'refused',
  item_type_not_handled: 'refused',
  unstorable_value: 'refused',
  work_item_not_found: 'not_found',
  dead_event_not_found: 'not_found',
  pause_not_found: 'not_found',
  job_not_found: 'not_found',
  not_found: 'not_found',
  not_retryable: 'conflict',
  not_cancellable: 'conflict',
  superseded: 'conflict',
  owned_by_another_caller: 'conflict',
  item_not_active: 'conflict',
}

/** For an error's code. */
export function exitStatusOf(code: string): number {
  return EXIT_STATUS[(Object.hasOwn(ENDING_BY_CODE, code) ? ENDING_BY_CODE[code] : undefined) ?? 'unexpected']
}
