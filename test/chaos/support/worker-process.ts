/** A worker seen from the script that drives it: calls with answers, and the signals that make a chaos of it. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { ErrandEvent } from './chaos-errand.ts'
import { now } from './journal.ts'
import { type Call, replySchema, type WorkerOptions } from './messages.ts'

export interface WorkerProcess {
  readonly name: string
  readonly isAlive: () => boolean
  /** Resolves with the instant of its end. */
  readonly ended: Promise<number>
  submit(item: string, text: string): Promise<{ readonly outcome: string; readonly id: string }>
  /** Answers the items that have the event. */
  ingest(event: ErrandEvent, ageMs?: number): Promise<readonly string[]>
  retry(id: string): Promise<void>
  cancel(id: string): Promise<void>
  exhaust(milliseconds: number): Promise<void>
  /** Whether it hears the wake-ups of others: `on`, `off` or `lost`. */
  listening(): Promise<string>
  /** SIGKILL; resolves with the instant. */
  kill(): Promise<number>
  /** SIGSTOP: it still holds its lease and its connections, and does nothing. */
  pause(): void
  resume(): void
  /** SIGTERM; resolves with its exit code, or null where it had to be killed after `patienceMs`. */
  terminate(patienceMs?: number): Promise<number | null>
}

/** A call that did not succeed: refused by the queue (`code`), or the worker ended before it answered. */
export class CallFailed extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(`${code}: ${message}`)
    this.code = code
  }
}

const WORKER = fileURLToPath(new URL('../worker.ts', import.meta.url))
const SHIFTED_CLOCK = new URL('shifted-clock.ts', import.meta.url).href
const START_TIMEOUT_MS = 20_000
const CALL_TIMEOUT_MS = 60_000

const submittedSchema = z.object({ outcome: z.string(), id: z.string() })
const idsSchema = z.array(z.string())

export async function startWorker(options: WorkerOptions, clockShiftMs = 0): Promise<WorkerProcess> {
  const child = fork(WORKER, [JSON.stringify(options)], {
    execArgv: clockShiftMs === 0 ? [] : ['--import', SHIFTED_CLOCK],
    env: { PATH: process.env['PATH'] ?? '', CHAOS_CLOCK_SHIFT_MS: String(clockShiftMs) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const { call, ready } = converse(child)
  const ended = new Promise<number>((resolve) => child.once('exit', () => resolve(now())))
  await ready
  const isAlive = () => child.exitCode === null && child.signalCode === null

  async function kill(): Promise<number> {
    const at = now()
    if (isAlive()) child.kill('SIGKILL')
    await ended
    return at
  }

  return {
    name: options.name,
    isAlive,
    ended,
    submit: async (item, text) => submittedSchema.parse(await call({ name: 'submit', item, text })),
    async ingest(event, ageMs = 0) {
      const eventAt = new Date(Date.now() - ageMs).toISOString()
      return idsSchema.parse(await call({ name: 'ingest', event, eventAt }))
    },
    retry: async (id) => void (await call({ name: 'retry', id })),
    cancel: async (id) => void (await call({ name: 'cancel', id })),
    exhaust: async (milliseconds) => void (await call({ name: 'exhaust', milliseconds })),
    listening: async () => z.string().parse(await call({ name: 'listening' })),
    kill,
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async terminate(patienceMs = 60_000) {
      if (!isAlive()) return child.exitCode
      const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
      clearTimeout(timer)
      return child.exitCode
    },
  }
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

function converse(child: ChildProcess): { call(call: Call): Promise<unknown>; ready: Promise<unknown> } {
  const waiting = new Map<number, Waiting>()
  let calls = 0

  child.on('message', (message) => {
    const { id, value, error } = replySchema.parse(message)
    const asked = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) asked?.resolve(value)
    else asked?.reject(new CallFailed(error.code, error.message))
  })
  child.once('exit', () => {
    for (const { reject } of waiting.values()) reject(new CallFailed('worker_ended', 'the worker ended'))
    waiting.clear()
  })
  child.on('error', () => {})

  function expectReply(id: number, timeoutMs: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => waiting.get(id)?.reject(new CallFailed('timeout', 'no answer came')), timeoutMs)
      const settle = (then: () => void) => {
        clearTimeout(timer)
        waiting.delete(id)
        then()
      }
      waiting.set(id, {
        resolve: (value) => settle(() => resolve(value)),
        reject: (error) => settle(() => reject(error)),
      })
    })
  }

  return {
    ready: expectReply(0, START_TIMEOUT_MS),
    call(call) {
      if (!child.connected) return Promise.reject(new CallFailed('worker_ended', 'the worker ended'))
      calls += 1
      const reply = expectReply(calls, CALL_TIMEOUT_MS)
      // Where it cannot be sent the worker is ending, and `exit` says so.
      child.send({ id: calls, call }, () => {})
      return reply
    },
  }
}
