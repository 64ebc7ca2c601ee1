/**
 * The log as the rooms see it: structured fields first, one fixed sentence second. The program hands in pino; tests hand
 * in `silentLog`. Fields are chosen one by one: never a request, a header, a token or file content.
 */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }
