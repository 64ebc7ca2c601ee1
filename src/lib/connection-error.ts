/**
 * Tells "the database is not there just now" from a fault in a statement: the same call may work in a moment, and nobody has
 * to mend anything in the program. Read from stable codes where there are any, and from the words of `pg` where there are none.
 */

const SQLSTATES =
  // Connection exceptions; too many connections; idle too long; and 57P0x: shutting down, crashed, starting up, idle.
  /^(08[0-9A-Z]{3}|53300|25P03|57P0[1235])$/

const SOCKET_ERRORS = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN'],
  ...['ENETUNREACH', 'ENETDOWN', 'ENOTFOUND', 'EAI_AGAIN'],
])

/** What the driver and its pool say without a code: lost, not in time, or closed while the program stops. */
const WORDS = new RegExp(
  `^(${[
    'timeout exceeded when trying to connect',
    'timeout expired',
    'Connection terminated',
    'Client has encountered a connection error',
    'Client was closed',
    'Query read timeout',
    'Cannot use a pool after calling end on the pool',
    'driver has already been destroyed',
    'Postgres connection has been discarded',
  ].join('|')})`,
)

/** A statement with the wrong number of parameters is "a protocol violation" too, and a fault of ours. */
const OUR_FAULT = /^bind message/

/** Took too long, deadlocked, or could not be serialized: nothing was written, and the statement itself is not at fault. */
const TRY_AGAIN = /^(57014|40P01|40001|55P03)$/

/** Not there, or not able to just now: the same statement may work in a moment. */
export function isDatabaseTrouble(error: unknown): boolean {
  if (isConnectionError(error)) return true
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && TRY_AGAIN.test(error.code)
}

export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (SOCKET_ERRORS.has(code)) return true
  // A missing Unix socket, and not any missing file.
  if (code === 'ENOENT') return 'syscall' in error && error.syscall === 'connect'
  if (SQLSTATES.test(code)) return !OUR_FAULT.test(error.message)
  return code === '' && WORDS.test(error.message)
}
