import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startTestApi } from '../../test/support/api.ts'

test.each([
  ['says nothing', ''],
  ['stops in the middle of its headers', 'GET /healthz HTTP/1.1\r\nHost: x\r\n'],
  [
    'stops in the middle of its body',
    'POST /api/v1/work-items HTTP/1.1\r\nHost: x\r\nAUTH\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"it',
  ],
])('a connection that %s does not keep the service from stopping', async (_title, sent) => {
  const { app, bearer } = await startTestApi({ closeGraceMs: 50 })
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {})
  const ended = once(socket, 'close')
  await once(socket, 'connect')
  socket.write(sent.replace('AUTH', `Authorization: ${bearer('all').authorization}`))
  // An answered request shows that the server has taken in what came before it.
  await fetch(`http://127.0.0.1:${port}/healthz`)
  await app.close()
  await ended
  expect(socket.destroyed).toBe(true)
})
