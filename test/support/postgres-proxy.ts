/**
 * A proxy in front of PostgreSQL that behaves badly on demand, in the ways of a connection pooler in transaction mode: it
 * swallows notifications, and refuses settings for a session. Both are said in the frames of PostgreSQL's protocol 3.0.
 */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface PostgresProxy {
  /** The address of the database that was given, through the proxy. */
  readonly url: string
  swallowsNotifications: boolean
  refusesSettings: boolean
  /** Connections accepted so far. */
  readonly accepted: number
  /** Goes on accepting, and answers nothing any more: what a network that has lost a peer looks like. */
  freeze(): void
  close(): Promise<void>
}

const NOTIFICATION_RESPONSE = 'A'.charCodeAt(0)

export async function startPostgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const track = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    return socket
  }
  let accepted = 0
  let isFrozen = false
  // Half-open: frozen, it does not even hang up when the other side does.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    accepted += 1
    track(client)
    if (isFrozen) return
    const upstream = track(connect(Number(target.port), target.hostname))
    client.on('end', () => isFrozen || upstream.end())
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
    client.once('data', (startup: Buffer) => {
      if (proxy.refusesSettings && startup.includes('statement_timeout')) {
        client.end(errorResponse('unsupported startup parameter: statement_timeout'))
        return
      }
      upstream.write(startup)
      client.on('data', (chunk) => isFrozen || upstream.write(chunk))
    })
    const frames = splitFrames((frame) => {
      if (isFrozen || (proxy.swallowsNotifications && frame[0] === NOTIFICATION_RESPONSE)) return
      client.write(frame)
    })
    upstream.on('data', frames)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  const url = new URL(databaseUrl)
  url.port = String(address.port)
  url.hostname = '127.0.0.1'
  const proxy: PostgresProxy = {
    url: url.href,
    swallowsNotifications: false,
    refusesSettings: false,
    get accepted() {
      return accepted
    },
    freeze() {
      isFrozen = true
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
  return proxy
}

/** Calls with one message of the server at a time: a letter, then the length of the rest in four bytes. */
function splitFrames(onFrame: (frame: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 5) {
      const end = 1 + rest.readInt32BE(1)
      if (rest.length < end) return
      onFrame(rest.subarray(0, end))
      rest = rest.subarray(end)
    }
  }
}

function errorResponse(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C08P01\0M${message}\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}
