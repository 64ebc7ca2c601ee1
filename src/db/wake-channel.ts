/**
 * Hears that another process has work for this one. A hint only: the queue is correct without it, and the sweep finds what no
 * hint reached. The channel keeps a listening connection up for ever, and it proves that notifications arrive: LISTEN
 * succeeds behind a pooler in transaction mode too, and then nothing ever comes.
 *
 * The proof goes out through the pool and has to come in here. Over the listening connection itself it would prove nothing:
 * a session hears its own notification within the answer to its own statement, through any pooler.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { backoffMs } from '../lib/backoff.ts'
import { messageOf } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { Database } from './database.ts'
import { type Listener, openListener } from './listener.ts'

/** connecting: there is no proven connection yet, or none any more. lost: there is one, and notifications do not arrive. */
export type WakeChannelState = 'listening' | 'connecting' | 'lost'

export interface WakeChannel {
  start(): void
  state(): WakeChannelState
  /** Takes about a second at most. Nothing is called after it. */
  stop(): Promise<void>
}

export interface WakeChannelOptions {
  /** Where to listen: PostgreSQL itself, or a pooler in session mode. */
  readonly url: string
  readonly channel: string
  /** The pool through which the proofs are sent, as the hints of other processes are. */
  readonly db: Database
  readonly log: Log
  /** There may be work. Hints that come close together are one; `payloads` is all that they said. */
  onWake(payloads: ReadonlySet<string>): void
  /** It listens again after it did not: hints may have been missed. */
  onReconnect(): void
  readonly timing?: Partial<WakeChannelTiming>
  readonly random?: () => number
}

export interface WakeChannelTiming {
  /** After a hint, those that follow within this time are one. */
  readonly coalesceMs: number
  readonly proofIntervalMs: number
  /** How long a proof may take to be sent, and then to arrive. */
  readonly proofTimeoutMs: number
  readonly retryBaseMs: number
  readonly retryMaxMs: number
  /** How often to try where a new connection heard nothing: somebody has to change something first. */
  readonly lostRetryMs: number
}

const TIMING: WakeChannelTiming = {
  coalesceMs: 5,
  proofIntervalMs: 30_000,
  proofTimeoutMs: 5_000,
  retryBaseMs: 200,
  retryMaxMs: 5_000,
  lostRetryMs: 60_000,
}

/** How a connection ended: it broke or could not be opened (`unreachable`), or it heard nothing from the start (`silent`). */
type Ending = { readonly kind: 'unreachable'; readonly error: string } | { readonly kind: 'silent' }

export function createWakeChannel(options: WakeChannelOptions): WakeChannel {
  const { url, channel, db, log, onReconnect, random = Math.random } = options
  const timing = { ...TIMING, ...options.timing }
  const stopping = new AbortController()
  const proofs = createProofs(db, channel, timing.proofTimeoutMs)
  const hints = coalesce((payloads) => guarded(() => options.onWake(payloads)), timing.coalesceMs)
  let state: WakeChannelState = 'connecting'
  /** What the log has said about the present outage; each kind is said once. */
  let complaint: Ending['kind'] | null = null
  let failures = 0
  let running: Promise<void> | null = null

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const ending = await listenUntilItEnds()
      if (stopping.signal.aborted) break
      failures += 1
      state = ending.kind === 'silent' ? 'lost' : 'connecting'
      if (complaint !== ending.kind) complain(ending, log)
      complaint = ending.kind
      const retry = { baseMs: timing.retryBaseMs, maxMs: timing.retryMaxMs }
      await pause(ending.kind === 'silent' ? timing.lostRetryMs : backoffMs(failures, retry, random), stopping.signal)
    }
  }

  async function listenUntilItEnds(): Promise<Ending> {
    let listener: Listener
    try {
      listener = await openListener({ url, channel, signal: stopping.signal, onNotification })
    } catch (error) {
      return { kind: 'unreachable', error: messageOf(error) }
    }
    try {
      return await proveUntilItEnds(listener)
    } finally {
      await listener.close()
    }
  }

  async function proveUntilItEnds({ ended }: Listener): Promise<Ending> {
    const over = AbortSignal.any([stopping.signal, ended])
    let proven = false
    for (;;) {
      const proof = await proofs.prove(over)
      if (over.aborted) return { kind: 'unreachable', error: String(over.reason) }
      if (proof === 'silent') {
        // One that has worked before most likely died unnoticed; a new one will tell.
        return proven ? { kind: 'unreachable', error: 'a test notification did not arrive' } : { kind: 'silent' }
      }
      if (proof === 'arrived' && !proven) {
        proven = true
        becomeListening()
      }
      await pause(proof === 'arrived' ? timing.proofIntervalMs : timing.retryMaxMs, over)
    }
  }

  function onNotification(payload: string): void {
    if (stopping.signal.aborted) return
    if (!proofs.take(payload)) hints.add(payload)
  }

  function becomeListening(): void {
    state = 'listening'
    if (failures === 0) return
    failures = 0
    complaint = null
    log.info({}, 'wake-ups from other processes arrive again')
    guarded(onReconnect)
  }

  function guarded(callback: () => void): void {
    try {
      callback()
    } catch (error) {
      log.error({ error: messageOf(error) }, 'a wake-up could not be handled; the sweep picks up the work')
    }
  }

  return {
    start() {
      running ??= run()
    },
    state: () => state,
    async stop() {
      stopping.abort('stopping')
      hints.clear()
      await running
    },
  }
}

function complain(ending: Ending, log: Log): void {
  if (ending.kind === 'silent') {
    log.warn(
      {},
      'wake-ups from other processes do not arrive, as behind a pooler in transaction mode: set database.listen_url to ' +
        'a direct address of PostgreSQL; until then the sweep picks up their work',
    )
  } else {
    const { error } = ending
    log.warn(
      { error },
      'the connection for wake-ups broke; it is opened again, and the sweep picks up the work until then',
    )
  }
}

/** Payloads that begin so are proofs, of this process or another; every other one is a hint. */
const PROOF = 'proof '

interface Proofs {
  /** Whether the payload was a proof. */
  take(payload: string): boolean
  /** unsent: the pool could not send it, which says nothing about the listening connection. */
  prove(over: AbortSignal): Promise<'arrived' | 'silent' | 'unsent'>
}

function createProofs(db: Database, channel: string, timeoutMs: number): Proofs {
  let awaited = ''
  let arrival = new AbortController()
  return {
    take(payload) {
      if (payload === awaited) arrival.abort()
      return payload.startsWith(PROOF)
    },
    async prove(over) {
      awaited = `${PROOF}${randomUUID()}`
      arrival = new AbortController()
      const sending = new AbortController()
      let isSent = false
      const send = async () => {
        await sql`select pg_notify(${channel}, ${awaited})`.execute(db)
        isSent = true
      }
      void send()
        .catch(() => {})
        .finally(() => sending.abort())
      await pause(timeoutMs, AbortSignal.any([over, sending.signal]))
      if (!isSent) return 'unsent'
      await pause(timeoutMs, AbortSignal.any([over, arrival.signal]))
      return arrival.signal.aborted ? 'arrived' : 'silent'
    },
  }
}

/** Calls at once, and then once more after `windowMs` if there was anything in between. */
function coalesce(call: (payloads: ReadonlySet<string>) => void, windowMs: number) {
  let timer: NodeJS.Timeout | null = null
  let said = new Set<string>()
  function fire(): void {
    const payloads = said
    said = new Set()
    timer = setTimeout(() => {
      timer = null
      if (said.size > 0) fire()
    }, windowMs)
    call(payloads)
  }
  return {
    add(payload: string): void {
      said.add(payload)
      if (timer === null) fire()
    },
    clear(): void {
      if (timer !== null) clearTimeout(timer)
      said.clear()
    },
  }
}

/** Waits, or until the signal is aborted. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {})
}
