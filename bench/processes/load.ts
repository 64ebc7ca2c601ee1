/**
 * Loads an HTTP server: a fixed number of connections that stay open, one request at a time on each, each with a key of its
 * own. It speaks over plain sockets, since client and server share the machine: what the client costs is missing on the
 * other side.
 */
import { connect, type Socket } from 'node:net'
import { z } from 'zod'
import { TEXT } from '../support/contender.ts'
import { serveParent } from '../support/process.ts'
import { monotonicMs, percentile } from '../support/statistics.ts'

const optionsSchema = z.object({
  url: z.string(),
  token: z.string(),
  connections: z.int(),
  /** Webhooks instead of submissions, about these items; `token` is then the webhook's secret. */
  webhookKeys: z.array(z.string()).optional(),
})
const CREATED = 201
const ACCEPTED = 202

await serveParent(optionsSchema, async ({ url, token, connections, webhookKeys }) => {
  const { hostname, port, pathname } = new URL(url)
  const head =
    `POST ${pathname} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n` +
    `${webhookKeys === undefined ? `authorization: Bearer ${token}` : `x-gitlab-token: ${token}`}\r\n` +
    'content-type: application/json\r\n'
  const wanted = webhookKeys === undefined ? CREATED : ACCEPTED
  let sent = 0
  const request = () => {
    sent += 1
    const body = JSON.stringify(
      webhookKeys === undefined
        ? { item_type: 'bench', key: `${process.pid}-${sent}`, stamp: '', text: TEXT }
        : { object_kind: 'pipeline', key: webhookKeys[sent % webhookKeys.length] },
    )
    return `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  }

  async function load(seconds: number) {
    const startedAt = monotonicMs()
    const until = startedAt + seconds * 1_000
    const times: number[] = []
    let refused = 0
    const lane = async () => {
      const socket = connect(Number(port), hostname).setNoDelay()
      const answers = readAnswers(socket)
      for (let begun = monotonicMs(); begun < until; begun = monotonicMs()) {
        socket.write(request())
        const { value: status } = await answers.next()
        if (status === wanted) times.push(monotonicMs() - begun)
        else refused += 1
        if (status === undefined) break
      }
      socket.destroy()
    }
    await Promise.all(Array.from({ length: connections }, lane))
    const perSecond = (times.length * 1_000) / (monotonicMs() - startedAt)
    return { perSecond, p50: percentile(times, 0.5), p99: percentile(times, 0.99), refused }
  }

  return {
    load: async (seconds) => load(z.number().parse(seconds)),
    async stop() {},
  }
})

/** The status of one answer after another. Every answer says its length; anything else ends the measurement. */
async function* readAnswers(socket: Socket): AsyncGenerator<number> {
  let text = ''
  for await (const chunk of socket.setEncoding('latin1')) {
    text += String(chunk)
    const end = text.indexOf('\r\n\r\n')
    if (end < 0) continue
    const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end + 2))?.[1]
    if (length === undefined) throw new Error(`an answer without a length: ${text.slice(0, end)}`)
    if (text.length < end + 4 + Number(length)) continue
    yield Number(text.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length))
    text = ''
  }
}
