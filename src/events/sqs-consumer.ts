/**
 * Takes events from an SQS queue: long polls, ten messages at a time. A message is deleted once its event is committed, and
 * not before (decision 0031), so a crash at any point costs a second delivery, never an event. While the database is away a
 * batch waits, and is kept invisible meanwhile: handing it back would count as one of the receives after which a redrive
 * policy sets a message aside. What cannot be read is left to that policy. Decision 0074.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Message, SQSClient } from '@aws-sdk/client-sqs'
import { Consumer } from 'sqs-consumer'
import { isDatabaseTrouble } from '../lib/connection-error.ts'
import { messageOf } from '../lib/errors.ts'
import type { EventCounts } from '../lib/event-counts.ts'
import type { Log } from '../lib/log.ts'
import type { IncomingEvent } from '../queue/item-type.ts'
import type { WorkQueue } from '../queue/work-queue.ts'
import type { EventsConfig } from './config.ts'
import { readEvent } from './read-event.ts'
import { readMessageBody } from './sqs-message.ts'

export interface SqsConsumer {
  start(): void
  /** Asks for no more, lets a batch that was received be stored and deleted, and gives up after 30 s (decision 0036). */
  stop(): Promise<void>
  status(): SqsStatus
}

export interface SqsStatus {
  /** `paused`: SQS refuses or does not answer; it is asked again. */
  readonly state: 'receiving' | 'paused' | 'stopped'
  /** How long the newest message had been on its way when it was received; null: none was. */
  readonly lagMs: number | null
}

export interface SqsConsumerDependencies {
  readonly queue: Pick<WorkQueue, 'ingestAll'>
  readonly config: EventsConfig
  readonly counts: EventCounts
  readonly log: Log
  /** For a queue that runs here; otherwise the AWS SDK finds both in the environment. */
  readonly connection?: SqsConnection
}

export interface SqsConnection {
  readonly region: string
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string }
}

const BATCH = 10
const LONG_POLL_SECONDS = 20
const CONNECT_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 30_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 30_000
const JOIN_MS = 30_000

export function createSqsConsumer(dependencies: SqsConsumerDependencies): SqsConsumer {
  const { config, log, connection } = dependencies
  const client = new SQSClient({
    ...(connection ?? regionOf(config.queue_url)),
    // Its own is the console. What matters comes as an error.
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      throwOnRequestTimeout: true,
    },
  })
  const stopping = new AbortController()
  const lag: { ms: number | null } = { ms: null }
  const storeBatch = createStoreBatch(dependencies, stopping.signal, lag)
  const receivers = Array.from({ length: config.receivers }, () => createReceiver(config, client, log, storeBatch))
  let state: 'new' | 'on' | 'stopped' = 'new'

  return {
    start() {
      if (state !== 'new') return
      state = 'on'
      for (const { start } of receivers) start()
    },
    async stop() {
      state = 'stopped'
      stopping.abort()
      const joined = Promise.all(receivers.map(({ stop }) => stop())).then(() => true)
      const inTime = await Promise.race([joined, delay(JOIN_MS, false, { ref: false })])
      if (!inTime) log.warn({}, 'the queue of events is left with a batch under way; its messages come again')
      client.destroy()
    },
    status() {
      const isPaused = receivers.some((receiver) => receiver.isPaused())
      return { state: state !== 'on' ? 'stopped' : isPaused ? 'paused' : 'receiving', lagMs: lag.ms }
    },
  }
}

/** A queue is in the region that its address names, whatever the environment says; it may name none. */
function regionOf(queueUrl: string): { readonly region?: string } {
  const region = /^sqs(?:-fips)?\.([a-z0-9-]+)\./.exec(new URL(queueUrl).hostname)?.[1]
  return region === undefined ? {} : { region }
}

type StoreBatch = (messages: readonly Message[]) => Promise<Message[]>

interface Receiver {
  start(): void
  stop(): Promise<void>
  isPaused(): boolean
}

function createReceiver(config: EventsConfig, client: SQSClient, log: Log, storeBatch: StoreBatch): Receiver {
  const stopping = new AbortController()
  const visibilitySeconds = Math.ceil(config.visibility_timeout / 1_000)
  let failures = 0
  let isStoring = false
  let pollEnded = () => {}
  const consumer = Consumer.create({
    queueUrl: config.queue_url,
    sqs: client,
    batchSize: BATCH,
    waitTimeSeconds: LONG_POLL_SECONDS,
    visibilityTimeout: visibilitySeconds,
    heartbeatInterval: Math.floor(visibilitySeconds / 3),
    messageSystemAttributeNames: ['ApproximateReceiveCount', 'SentTimestamp'],
    suppressFifoWarning: true,
    strictReturn: true,
    async preReceiveMessageCallback() {
      if (failures > 0) await delay(pauseMs(failures), null, { signal: stopping.signal })
    },
    async handleMessageBatch(messages) {
      isStoring = true
      return storeBatch(messages)
    },
  })
  const endPoll = () => {
    isStoring = false
    failures = 0
    pollEnded()
  }
  consumer.on('empty', endPoll)
  consumer.on('response_processed', endPoll)
  consumer.on('error', (error) => {
    // During a batch: it could not be deleted, or not be kept invisible. It comes again, and the end of the poll follows.
    if (!isStoring) {
      failures += 1
      pollEnded()
    }
    if (stopping.signal.aborted) return
    log.warn({ error: messageOf(error), code: nameOf(error.cause) }, 'the queue of events does not answer as it should')
  })

  return {
    start: () => consumer.start(),
    async stop() {
      stopping.abort()
      if (!consumer.status.isPolling) return consumer.stop()
      const { promise, resolve } = Promise.withResolvers<void>()
      pollEnded = resolve
      // Only an idle long poll is broken off: a batch is to be deleted after it was stored.
      consumer.stop({ abort: !isStoring })
      await promise
    },
    isPaused: () => failures > 0,
  }
}

function pauseMs(failures: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 20), LONGEST_PAUSE_MS)
}

function nameOf(error: unknown): string | undefined {
  return error instanceof Error ? error.name : undefined
}

interface Received {
  readonly message: Message
  readonly event: IncomingEvent
}

/** Answers the messages that may be deleted. Never rejects. */
function createStoreBatch(
  { queue, counts, log }: SqsConsumerDependencies,
  stopping: AbortSignal,
  lag: { ms: number | null },
): StoreBatch {
  return async (messages) => {
    counts.add('received_sqs', messages.length)
    const done: Message[] = []
    let left: Received[] = []
    for (const message of messages) {
      const sentAt = sentAtOf(message)
      if (sentAt !== null) lag.ms = Math.max(0, Date.now() - sentAt.getTime())
      const facts = { message_id: message.MessageId, receives: message.Attributes?.ApproximateReceiveCount }
      const reading = readMessageBody(message.Body ?? '')
      if (reading.kind === 'unreadable') {
        counts.add('unreadable')
        log.warn({ ...facts, reason: reading.reason }, 'an event cannot be read; it is left to the redrive policy')
        continue
      }
      const event = readEvent(reading.body, message.MessageId ?? null, sentAt ?? new Date())
      if (event !== null) {
        left.push({ message, event })
        continue
      }
      counts.add('unknown')
      log.debug(facts, 'a message is no event of GitLab or Tekton; it is passed over')
      done.push(message)
    }
    for (let tries = 1; left.length > 0 && !stopping.aborted; tries += 1) {
      const outcomes = await queue.ingestAll(left.map(({ event }) => event))
      const again: Received[] = []
      for (const [place, outcome] of outcomes.entries()) {
        const received = left[place]
        if (received === undefined) continue
        if (outcome.status === 'fulfilled') done.push(received.message)
        else if (isDatabaseTrouble(outcome.reason)) again.push(received)
        else {
          const facts = { message_id: received.message.MessageId, error: messageOf(outcome.reason) }
          log.error(facts, 'an event could not be stored; it is left to the redrive policy')
        }
      }
      if (again.length > 0) {
        log.warn({ events: again.length, tries }, 'events wait for the database')
        await delay(pauseMs(tries), null, { signal: stopping }).catch(() => {})
      }
      left = again
    }
    return done
  }
}

function sentAtOf({ Attributes }: Message): Date | null {
  const sent = Number(Attributes?.SentTimestamp ?? Number.NaN)
  return Number.isSafeInteger(sent) && sent > 0 ? new Date(sent) : null
}
