import { messageOf, WorkQueueError } from '../lib/errors.ts'

/** What to tell people when a server cannot listen; anything else passes through unchanged. */
export function listenFailure(error: unknown, host: string, port: number, who: string): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const where = `${host}:${port}`
  if (code === 'EADDRINUSE') {
    const message = `${where} is in use, so ${who} cannot listen there. Stop what uses it, or choose another port.`
    return new WorkQueueError('port_in_use', message, { cause: error })
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    const message = `${who} cannot listen on ${where}: ${messageOf(error)}. Choose another host or port.`
    return new WorkQueueError('listen_failed', message, { cause: error })
  }
  return error
}
