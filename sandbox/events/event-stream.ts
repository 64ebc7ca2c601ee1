/**
 * The way of GitLab's events through SNS and SQS, in one process: a relay takes webhooks and publishes them to a topic, which
 * delivers them to a queue. Both are fauxqs, over the wire protocol of AWS. On demand the way is as bad as the real one may
 * be: it repeats, delays (and so reorders) and loses what it carries, by a seed, so that a run can be repeated.
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FauxqsServer } from 'fauxqs'

export interface StreamFaults {
  /** Shares of the events: published twice; lost. */
  readonly duplicate?: number
  readonly drop?: number
  /** Each is held back for up to this long, a repetition on its own. */
  readonly delayMs?: number
}

export interface EventStreamOptions {
  readonly faults?: StreamFaults
  /** 0 to 1. */
  readonly random?: () => number
  /** As SQS delivers when the subscription says so: without the envelope of SNS. */
  readonly raw?: boolean
  /** Receives after which a message is set aside. */
  readonly maxReceives?: number
  /** How long a message that was received stays away, unless whoever receives says otherwise. */
  readonly visibilitySeconds?: number
}

export interface EventStream {
  /** Where webhooks go. */
  readonly hookUrl: string
  readonly queueUrl: string
  readonly connection: { readonly region: string; readonly credentials: Credentials }
  /** What was taken from webhooks or `publish`, and what was made of it. */
  readonly sent: { taken: number; dropped: number; published: number }
  publish(body: string): void
  /** Past SNS, as it is. */
  send(body: string): string
  /** Messages that wait, that somebody has received and not deleted, and that were set aside. */
  depth(): { readonly ready: number; readonly inFlight: number; readonly dead: number }
  /** Until when the message that was received last stays away, in milliseconds; null: none is. */
  invisibleUntil(): number | null
  setFaults(faults: StreamFaults): void
  /** Resolves once nothing is held back any more. */
  settled(): Promise<void>
  stop(): Promise<void>
}

interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

const HOST = '127.0.0.1'
const REGION = 'us-east-1'
const TOPIC = 'gitlab'
const QUEUE = 'events'
const DEAD_QUEUE = 'events-dead'
const MAX_BODY_BYTES = 25 * 1024 * 1024

export async function startEventStream(options: EventStreamOptions = {}): Promise<EventStream> {
  const { startFauxqs } = await import('fauxqs')
  const aws = await startFauxqs({ port: 0, host: HOST, logger: false, defaultRegion: REGION })
  createQueues(aws, options)
  const random = options.random ?? Math.random
  let faults = options.faults ?? {}
  const sent = { taken: 0, dropped: 0, published: 0 }
  const held = new Set<Promise<void>>()

  function publish(body: string): void {
    sent.taken += 1
    if (random() < (faults.drop ?? 0)) {
      sent.dropped += 1
      return
    }
    const times = random() < (faults.duplicate ?? 0) ? 2 : 1
    for (let copy = 0; copy < times; copy += 1) publishAfter(random() * (faults.delayMs ?? 0), body)
  }

  function publishAfter(ms: number, body: string): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    const send = () => {
      held.delete(promise)
      sent.published += 1
      aws.publish(TOPIC, body)
      resolve()
    }
    held.add(promise)
    if (ms === 0) send()
    else setTimeout(send, ms)
  }

  const relay = createServer((request, response) => {
    readBody(request).then(
      (body) => {
        publish(body)
        response.writeHead(202).end()
      },
      () => response.writeHead(400).end(),
    )
  })
  await new Promise<void>((resolve) => relay.listen(0, HOST, resolve))

  return {
    hookUrl: `http://${HOST}:${(relay.address() as AddressInfo).port}/`,
    queueUrl: `http://${HOST}:${aws.port}/000000000000/${QUEUE}`,
    connection: { region: REGION, credentials: { accessKeyId: 'sandbox', secretAccessKey: 'sandbox' } },
    sent,
    publish,
    send: (body) => aws.sendMessage(QUEUE, body).messageId,
    depth: () => ({ ...messagesOf(aws, QUEUE), dead: messagesOf(aws, DEAD_QUEUE).ready }),
    invisibleUntil: () => aws.inspectQueue(QUEUE)?.messages.inflight.at(-1)?.visibilityDeadline ?? null,
    setFaults(next) {
      faults = next
    },
    async settled() {
      while (held.size > 0) await Promise.all(held)
    },
    async stop() {
      relay.closeAllConnections()
      await new Promise((resolve) => relay.close(resolve))
      await aws.stop()
    },
  }
}

function createQueues(aws: FauxqsServer, { raw = false, maxReceives = 5, visibilitySeconds = 30 }: EventStreamOptions) {
  const { queueArn: deadLetterTargetArn } = aws.createQueue(DEAD_QUEUE)
  const redrive = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: String(maxReceives) })
  aws.createQueue(QUEUE, { attributes: { RedrivePolicy: redrive, VisibilityTimeout: String(visibilitySeconds) } })
  aws.createTopic(TOPIC)
  aws.subscribe({ topic: TOPIC, queue: QUEUE, ...(raw ? { attributes: { RawMessageDelivery: 'true' } } : {}) })
}

function messagesOf(aws: FauxqsServer, queue: string): { readonly ready: number; readonly inFlight: number } {
  const messages = aws.inspectQueue(queue)?.messages
  return {
    ready: (messages?.ready.length ?? 0) + (messages?.delayed.length ?? 0),
    inFlight: messages?.inflight.length ?? 0,
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += (chunk as Buffer).length
    if (size > MAX_BODY_BYTES) throw new Error('the body is too large')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}
