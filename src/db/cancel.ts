/**
 * Asks the server to stop the statement that a connection is waiting for. A connection that is only cut leaves its statement
 * running, or waiting for a lock, until it is done. A cancel request is a connection of its own, has no answer, and may fail
 * without harm; a pooler passes it on.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import type pg from 'pg'

const CANCEL_REQUEST_CODE = 80_877_102
const TIMEOUT_MS = 1_000

/** Resolves when the request was taken, or could not be delivered; never rejects. */
export async function cancelOnServer(client: pg.Client): Promise<void> {
  // Not in the driver's types.
  const { processID, secretKey }: { processID?: unknown; secretKey?: unknown } = client as object
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return
  const request = Buffer.alloc(16)
  request.writeInt32BE(request.length, 0)
  request.writeInt32BE(CANCEL_REQUEST_CODE, 4)
  request.writeInt32BE(processID, 8)
  request.writeInt32BE(secretKey, 12)
  const { host, port } = client
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  const timer = setTimeout(() => socket.destroy(), TIMEOUT_MS)
  socket.on('error', () => {})
  socket.resume()
  socket.write(request)
  await once(socket, 'close').catch(() => {})
  clearTimeout(timer)
}
