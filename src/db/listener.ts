/**
 * One connection that listens on one channel. It is no pool connection, because LISTEN belongs to a session. It promises that
 * its end is always noticed (`ended`), that nothing of it is ever an unhandled error, and that closing it cannot hang. Whether
 * notifications really arrive, and what to do when they do not, is the wake channel's business.
 */
import pg from 'pg'
import { messageOf } from '../lib/errors.ts'

export interface Listener {
  /** Aborted when the connection has ended; the reason is a sentence. */
  readonly ended: AbortSignal
  close(): Promise<void>
}

export interface ListenOptions {
  readonly url: string
  readonly channel: string
  /** Gives up connecting. */
  readonly signal: AbortSignal
  onNotification(payload: string): void
}

const CONNECT_TIMEOUT_MS = 10_000
const CLOSE_TIMEOUT_MS = 1_000
/** Short of the five minutes after which many a firewall forgets a silent connection. */
const KEEPALIVE_DELAY_MS = 30_000

/** Throws what the driver says when the database is not reachable or refuses to LISTEN. */
export async function openListener({ url, channel, signal, onNotification }: ListenOptions): Promise<Listener> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_DELAY_MS,
    application_name: 'workqueue-service wake-ups',
  })
  const over = new AbortController()
  client.on('error', (error) => over.abort(messageOf(error)))
  client.on('end', () => over.abort('the connection was closed'))
  client.on('notification', ({ payload }) => onNotification(payload ?? ''))
  const cut = () => client.connection.stream.destroy()
  signal.addEventListener('abort', cut)
  try {
    await client.connect()
    await client.query(`listen ${client.escapeIdentifier(channel)}`)
  } catch (error) {
    cut()
    throw error
  } finally {
    signal.removeEventListener('abort', cut)
  }
  return {
    ended: over.signal,
    async close() {
      // The driver waits for the other side to hang up, which a half-open connection never does.
      const patience = setTimeout(cut, CLOSE_TIMEOUT_MS)
      await client.end().catch(() => {})
      clearTimeout(patience)
    },
  }
}
