/**
 * Both ends of a process that takes part in a measurement. What must not disturb each other, a server, a worker, the one
 * that loads them, runs in a process of its own, as it would in production. The parent asks questions by name, the child
 * answers; it ends when it is told to or when the parent is gone.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { messageOf } from '../../src/lib/errors.ts'
import { within } from './within.ts'

export interface BenchProcess {
  readonly pid: number
  ask<T>(question: string, answer: z.ZodType<T>, argument?: unknown): Promise<T>
  /** Lets it stop what it started, and waits for its end. */
  stop(): Promise<void>
}

/** What a child can be asked; `stop` ends it. */
export interface Answers {
  readonly [question: string]: (argument: unknown) => Promise<unknown>
  stop(): Promise<void>
}

const START_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 15_000
const ANSWER_TIMEOUT_MS = 15 * 60_000

const questionSchema = z.object({ id: z.int(), question: z.string(), argument: z.unknown() })
const replySchema = z.union([
  z.object({ ready: z.literal(true) }),
  z.object({ id: z.int(), answer: z.unknown() }),
  z.object({ id: z.int(), error: z.string() }),
])

/** Starts `bench/processes/{name}.ts` and waits until it is ready. */
export async function startProcess(name: string, options: object): Promise<BenchProcess> {
  const file = fileURLToPath(new URL(`../processes/${name}.ts`, import.meta.url))
  const child = fork(file, [JSON.stringify(options)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const waiting = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>()
  const ready = Promise.withResolvers<void>()
  let asked = 0

  child.on('message', (message) => {
    const reply = replySchema.parse(message)
    if ('ready' in reply) return ready.resolve()
    const asker = waiting.get(reply.id)
    waiting.delete(reply.id)
    if ('error' in reply) asker?.reject(new Error(`${name}: ${reply.error}`))
    else asker?.resolve(reply.answer)
  })
  child.on('exit', (code, signal) => {
    const error = new Error(`the process ${name} ended with ${signal ?? code}`)
    ready.reject(error)
    for (const { reject } of waiting.values()) reject(error)
  })

  function ask<T>(question: string, answer: z.ZodType<T>, argument: unknown = null): Promise<T> {
    asked += 1
    const id = asked
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    waiting.set(id, { resolve, reject })
    child.send({ id, question, argument })
    return within(ANSWER_TIMEOUT_MS, promise, `${name} did not answer "${question}"`).then((value) =>
      answer.parse(value),
    )
  }

  await within(START_TIMEOUT_MS, ready.promise, `${name} did not start`)
  return {
    pid: child.pid ?? 0,
    ask,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      const stopped = ask('stop', z.unknown()).catch(() => {})
      await within(STOP_TIMEOUT_MS, Promise.race([stopped, gone]), `${name} did not stop`).catch(() => {})
      child.kill('SIGKILL')
      await gone
    },
  }
}

/** The child's side: reads its options, starts, and answers until it is stopped. */
export async function serveParent<Options>(
  options: z.ZodType<Options>,
  start: (options: Options) => Promise<Answers>,
): Promise<void> {
  const answers = await start(options.parse(JSON.parse(process.argv[2] ?? 'null')))
  const reply = async (message: unknown) => {
    const { id, question, argument } = questionSchema.parse(message)
    try {
      const answer = answers[question]
      if (answer === undefined) throw new Error(`nobody answers "${question}"`)
      process.send?.({ id, answer: (await answer(argument)) ?? null })
    } catch (error) {
      process.send?.({ id, error: messageOf(error) })
    }
  }
  process.on('message', (message) => void reply(message))
  process.on('disconnect', () => process.exit(0))
  process.send?.({ ready: true })
}
